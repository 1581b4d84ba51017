# Times one method of R's quantreg on a problem written by peers.py.
# usage: Rscript quantreg.R folder method budget
# Reads  folder/{shape,X,s} (doubles; X by columns, or compressed rows when sparse),
# prints one JSON line per event, writes folder/theta (one row of p doubles per level).
suppressMessages({library(SparseM); library(quantreg)})
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]; method <- arguments[2]; budget <- as.numeric(arguments[3])

doubles <- function(name, count) {
  stream <- file(file.path(folder, name), "rb"); on.exit(close(stream))
  readBin(stream, "double", count)
}
integers <- function(name, count) {
  stream <- file(file.path(folder, name), "rb"); on.exit(close(stream))
  readBin(stream, "integer", count)
}
say <- function(...) { cat(sprintf(...), "\n", sep = ""); flush(stdout()) }
status <- function(field) {
  lines <- readLines("/proc/self/status")
  1024 * as.numeric(gsub("[^0-9]", "", grep(paste0("^", field, ":"), lines, value = TRUE)))
}

shape <- doubles("shape", 64)
n <- shape[1]; p <- shape[2]; low <- shape[3]; high <- shape[4]; entries <- shape[5]
levels <- shape[-(1:5)]
s <- doubles("s", n)
X <- if (entries == 0) matrix(doubles("X", n * p), n, p) else
  new("matrix.csr", ra = doubles("X", entries), ja = integers("columns", entries),
      ia = integers("rows", n + 1), dimension = as.integer(c(n, p)))

# the band: (x, s+high) with weight 1-level and (x, s+low) with weight level, multiplied in
weigh <- function(X, w) if (is.matrix(X)) X * w else {
  X@ra <- X@ra * rep(w, diff(X@ia)); X
}
prepare <- function(level) {
  if (high == 0) return(list(X = X, s = s))
  w <- rep(c(1 - level, level), each = n)
  list(X = weigh(rbind(X, X), w), s = c(s + high, s + low) * w)
}
fit <- function(data, level) switch(method,
  br = rq.fit.br(data$X, data$s, tau = level),
  fnb = rq.fit.fnb(data$X, data$s, tau = level),
  pfn = rq.fit.pfn(data$X, data$s, tau = level),
  sfn = {
    # the default work space is a guess that is too small for many factor levels
    p <- ncol(data$X)
    room <- as.integer(min(p * (p + 1) / 2 + p, 2^31 - 1))
    rq.fit.sfn(data$X, data$s, tau = level,
               control = list(nnzlmax = room, nsubmax = room, tmpmax = 100L * as.integer(p)))
  })$coefficients

# a tiny problem first, so that loading code counts neither as time nor as memory
warm <- cbind(1, sin(1:60))
if (method == "sfn") warm <- as.matrix.csr(warm)
invisible(fit(list(X = warm, s = cos(1:60)), 0.75))
invisible(gc())
linux <- file.exists("/proc/self/clear_refs")
if (linux) cat("5", file = "/proc/self/clear_refs")  # forget the peak so far
before <- if (linux) status("VmRSS") else NA

set.seed(0)  # pfn samples
data <- lapply(levels, prepare)
say('{"event": "ready", "library": "%s, BLAS %s"}', packageVersion("quantreg"),
    basename(extSoftVersion()["BLAS"]))
spent <- 0; runs <- 0
while ((runs < 3 && spent < 5) || (runs < 200 && spent < budget)) {
  clock <- proc.time()
  wall <- Sys.time()
  theta <- suppressWarnings(mapply(fit, data, levels))
  seconds <- as.numeric(difftime(Sys.time(), wall, units = "secs"))
  cpu <- sum((proc.time() - clock)[1:2])
  say('{"event": "run", "seconds": %.6f, "cpu": %.6f}', seconds, cpu)
  spent <- spent + seconds; runs <- runs + 1
}
say('{"event": "memory", "bytes": %.0f}', if (linux) status("VmHWM") - before else -1)
stream <- file(file.path(folder, "theta"), "wb")
writeBin(as.double(theta), stream)
close(stream)
