# Censored quantile regression of quantreg on rows written by alternatives_methods.py.
# usage: Rscript alternatives_crq.R METHOD FOLDER   (Portnoy takes flags, Powell takes the stock)
suppressMessages({library(quantreg); library(survival)})
arguments <- commandArgs(trailingOnly = TRUE)
method <- arguments[1]; folder <- arguments[2]
doubles <- function(name, count) {
  stream <- file(file.path(folder, name), "rb"); on.exit(close(stream))
  readBin(stream, "double", count)
}
shape <- doubles("shape", 64)
n <- shape[1]; p <- shape[2]; n_test <- shape[3]; levels <- shape[-(1:3)]
X <- matrix(doubles("X", n * p), n, p)
X_test <- cbind(1, matrix(doubles("X_test", n_test * p), n_test, p))
sales <- doubles("sales", n); censored <- doubles("censored", n); stock <- doubles("stock", n)

clock <- proc.time()
if (method == "Portnoy") {
  found <- crq(Surv(sales, 1 - censored, type = "right") ~ X, method = "Portnoy")
  theta <- coef(found, levels)
} else {
  theta <- sapply(levels, function(level)
    coef(crq(Curv(sales, stock, "right") ~ X, taus = level, method = "Powell")))
}
seconds <- sum((proc.time() - clock)[1:2])
stream <- file(file.path(folder, "decisions"), "wb")
writeBin(as.double(X_test %*% theta), stream)
close(stream)
cat(seconds, file = file.path(folder, "seconds"))
