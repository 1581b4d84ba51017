# Reference values of censored regression, by R's survival::survreg.
#
#   Rscript tests/reference/make_survreg.R tests/reference/censored_times.json
#
# Reads the data sets out of that file and writes their fits beside it, to survreg_fits.json.
# Location is linear in the features, of the time itself or of its logarithm.
#   gaussian, logistic    of the time
#   lognormal, weibull    of its logarithm
#   gumbel                largest extreme value: the smallest one of minus the time, from the left
#   student               t with the degrees of freedom that maximise the likelihood

library(survival)
library(jsonlite)

arguments <- commandArgs(trailingOnly = TRUE)
source_file <- if (length(arguments) > 0) arguments[1] else "censored_times.json"
data_sets <- fromJSON(source_file)$data
control <- survreg.control(maxiter = 500, rel.tolerance = 1e-13, outer.max = 100)

answer <- function(fit, sign = 1, freedom = NULL) {
  list(
    intercept = unname(sign * coef(fit)[1]),
    coefficients = as.list(sign * coef(fit)[-1]),
    scale = fit$scale,
    freedom = freedom,
    log_likelihood = fit$loglik[2]
  )
}

fits <- list()
for (name in names(data_sets)) {
  set <- data_sets[[name]]
  frame <- as.data.frame(set$features)
  frame$time <- set$time
  frame$event <- set$event
  right <- reformulate(names(set$features), response = quote(Surv(time, event)))
  left <- reformulate(names(set$features), response = quote(Surv(-time, event, type = "left")))
  fit <- function(formula, dist, ...) {
    survreg(formula, data = frame, dist = dist, control = control, ...)
  }
  student <- function(log_freedom) {
    fit(right, "t", parms = exp(log_freedom))
  }
  best <- optimize(function(v) student(v)$loglik[2], c(log(2.1), log(300)), maximum = TRUE, tol = 1e-10)
  fits[[name]] <- list(
    normal = answer(fit(right, "gaussian")),
    logistic = answer(fit(right, "logistic")),
    lognormal = answer(fit(right, "lognormal")),
    weibull = answer(fit(right, "weibull")),
    gumbel = answer(fit(left, "extreme"), sign = -1),
    student = answer(student(best$maximum), freedom = exp(best$maximum))
  )
}

result <- list(
  made_by = paste("make_survreg.R, survival", packageVersion("survival"), "and", R.version.string),
  fits = fits
)
write_json(
  result,
  file.path(dirname(source_file), "survreg_fits.json"),
  auto_unbox = TRUE, digits = NA, pretty = TRUE, null = "null"
)
