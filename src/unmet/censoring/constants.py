"""Tuning constants of the band rules, by package: what each trades, and what was measured.

Limits of floating-point arithmetic, quadrature nodes and names stand with the code that needs
them; here is what could have been chosen otherwise.
"""

from __future__ import annotations

# --- rules that train the model: audited, searched

#: Rows to be expected beyond the quantile, per parameter of ε: fewer make the diagnosis "weakly".
ENOUGH_BEYOND = 5
#: A model whose decisions follow a shift up to this share of it follows it exactly.
FOLLOWS_A_SHIFT = 1e-6
#: Shifts tried for a cost without slopes; each evaluates all audited rows.
SHIFTS_TRIED = 400
#: Algorithm 1 of the paper: 75% to train on, 25% to price.
VALIDATION = 0.25
#: So near to an end of its box, as a share of it, ε sits at that end.
CORNER = 0.05

# --- latent: what was learned, and ε

#: Rows for each feature of the location from which the scale may depend on all of them.
ROWS_PER_SCALE = 20
#: How far beyond the observations, in their ranges, 99% of the rows may have their .9-quantile.
FURTHEST_SPREADS = 5.0
#: The same where it is known which rows are censored: few lifetimes may be seen to end.
FURTHEST_KNOWN = 100.0
#: A decision beyond so many times the largest observation is followed, and the diagnosis says so.
FAR_FROM_SEEN = 10.0
#: Evaluations of the likelihood that the distributions of one fit may take; ordinary ones take some
#: hundred.
MAX_EVALUATIONS = 10_000
#: Share hidden that a shape alone cannot prove.
INCREDIBLE = 0.75
#: Rows may be censored so many times more often than on average: bounds ε where little is.
CENSORED_MORE_OFTEN = 3.0
#: Equally likely quantiles by which an expectation is taken.
N_NODES = 49
#: Rows whose expectations are taken together; more take more memory.
ROWS_AT_A_TIME = 500
#: Rows over which the numbers of a diagnosis are averaged; a saved rule keeps their features.
REPRESENTATIVE_ROWS = 400

# --- latent: rows and features

#: Share of rows with flags from which the others are not missed.
MOSTLY_KNOWN = 0.8
#: Standard deviations in steps of the lattice below which observations are few whole numbers: a
#: density may exceed one per step, and then beats every probability unfairly.
FEW_STEPS = 4.0
#: Median count beyond which steps of one hardly show, and the gamma says the same much faster.
LARGE_COUNT = 50
#: How far an imposed rate may be missed.
RATE_SLACK = 0.01
#: With more columns the location is that of a ridge regression: p × p matrices would take over.
MAX_COLUMNS = 256
#: With fewer rows for each column the same is done: held-out rows could not evaluate anything.
MIN_ROWS_PER_COLUMN = 5

#: Columns of the features, and share of them that is not 0, from which on their basis is not
#: written out. 9,000 rows × 139 columns, nine of them not 0: a product takes a seventh of the time.
MIN_SPARSE_COLUMNS, SPARSE = 24, 0.2

# --- latent: distributions that are stacked, where flags, stock or a rate are known

#: Strengths of the ridge on slopes of standardised features, in units of the scale, that are tried.
#: On real sets of 50 to 800 rows and 10 to 25 features 3 to 100 win; a Tobit model has none.
RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
#: Folds, and most rows that choose strengths and weights: more change neither.
STACK_FOLDS, ROWS_STACKED = 5, 3000
#: Rows in advance for the plain distributions, when weights are learned; they matter below some 500
#: rows.
PLAIN = {"normal": 4.0, "root_normal": 2.0, "logistic": 1.0}
#: The least weight that is kept.
LEAST_WEIGHT = 0.02
#: Rows from which tails heavier than the logistic's are asked for.
ROWS_FOR_TAILS = 1000
#: Chance of a score test at which a scale that varies with the features is worth a fit.
SCALE_BY_CHANCE = 1e-4
#: A row at rank u of its distribution was sold out with odds in proportion to (u ÷ knee) to this
#: power, up to the knee. Measured on bakery and restaurant demand with four kinds of orders on past
#: demand or sales; constant odds close 4 to 9 points less of the gap.
PROFILE_KNEE, PROFILE_POWER = 0.65, 0.85
#: Integrated hazard up to which profiles are computed: beyond lie six rows in a million.
FURTHEST_HAZARD = 12.0
#: Share of the distribution's own quantile in what a line is trained on; the rest are observations
#: shifted to their level. On real sets 0, .5 and 1 close the same share of the gap, but for 3
#: points; on bakery demand with orders on sales, whose gap is small, 101, 111 and 98%.
BLEND = 0.5

# --- latent: maximum likelihood of one candidate model

#: Standard errors of the first step of a climb, and of the smallest that is tried after it failed.
FIRST_STEP, LEAST_STEP = 10.0, 0.01
#: Where the orders may stand, as multiples of the spread of the observations: how far the truth's
#: location lies above theirs, the level of the orders above that, and their spread.
STARTS = ((0.5, 0.0, 0.3), (0.1, 1.0, 0.5), (0.0, 2.0, 0.7))
#: Steps from each start, before only the best goes on, and rows that are enough for them: so many,
#: and so many for each parameter.
FIRST_STEPS, FIRST_ROWS, FIRST_ROWS_EACH = 8, 800, 10
#: Rows that families are looked at with before those left see all of them, where there are twice as
#: many, and rows for each column: with 20 of 9,000 × 139 heavy tails no longer showed. And rows by
#: which a climb is whitened: more change neither its way nor its end.
ROWS_LOOKED_AT_FIRST, ROWS_LOOKED_AT_EACH, ROWS_WHITENED = 2500, 30, 8000
#: Orders spread by less, in scales, are looked for exactly (orders.py). A narrow spike can be laid
#: through as many rows as there are parameters, which proves nothing.
LEAST_SPREAD = 0.05
#: The same for counts: a probability is at most one, so no spike can be narrow.
LEAST_COUNT_SPREAD = 0.01
#: Spread of orders from which folds start: they must find narrow ones again by themselves.
BLURRED = 0.4
#: Of the spread of limits: where the scale of the truth starts at least.
LEAST_START = 0.3

# --- latent: which candidate model

#: Standard errors behind, before held-out rows are asked.
HOPELESS = 4.0
#: Standard errors behind, up to which a candidate model is not ruled out.
OPEN = 2.0
#: The same for one without censoring.
PROOF = 3.0
#: Shares censored, and amounts hidden (relative), that count as the same.
SAME_SHARE, SAME_AMOUNT = 0.02, 0.15
#: Units of log-likelihood per row by which a family on the logarithmic scale rules out the others.
FAR_OFF = 0.5
#: Units of log-likelihood that make a richer pattern worth its parameters.
WORTH = 10.0
#: Share of rows from which orders, or unlimited stock, are worth a name.
LEAST_SHARE = 0.01
#: Logarithms of shapes beyond which these families are normal.
NEARLY_NORMAL = {"student": 3.5, "skewed": 4.0, "skewed_left": 4.0}
#: The yardstick of fit, a smoothed histogram: cells, robust standard deviations to either side
#: (what lies beyond counts as there), and widths of the normal rule.
DENSITY_GRID, DENSITY_REACH = 2048, 8.0
DENSITY_WIDTHS = (0.25, 0.5, 1.0, 2.0)
#: Standard errors by which the yardstick must win to say that nothing fits.
MISFIT = 3.0

# --- latent: what a verdict must survive

#: Units of log-likelihood per row by which censoring must beat any smooth distribution. Smoothing
#: itself costs up to .007 with 3,000 rows, whatever the distribution; orders at_mass on whole
#: numbers gain .04 and more, orders that scatter by a tenth of the deviation of demand about .01.
SHARP = 0.02

#: Times as many rows as the distribution says may end at their order by chance.
MORE_TIES = 1.5
#: Quantiles of the residuals beyond which rows are left out. That itself makes a distribution look
#: less skewed: without 2% of the rows below, a share of .40 was found as .25.
TRIMMED = (0.005, 0.999)
#: Range of the share, as a part of it, from which nobody can say how much is hidden.
WIDE = 0.6
#: Units of log-likelihood, beyond its parameters, by which censoring must explain more in a
#: robustness check.
LEAST_CHECK_GAIN = 2.0
#: Series that may have levels of their own in a robustness check; features that may bend, and
#: values that make a feature a measure and no code.
MAX_SERIES, MAX_BENT, MIN_VALUES = 50, 8, 12
#: Shares sold out that should have been seen, and in what share of the draws; most draws, and rows.
SOLD_OUT, POWER = (0.1, 0.25), 0.9
DRAWS, MAX_DRAWN = 20, 2000
#: Orders of these draws: their scatter in deviations of demand, and the chance of unlimited stock.
ORDER_NOISE, UNLIMITED = 0.5, (0.5, 0.0)

# --- latent: orders that leave a point mass

#: Levels of the linear quantiles among which the plane of orders is looked for.
PLANE_LEVELS = (0.9, 0.65, 0.4)
#: Standard errors by which rows on the plane must exceed those that chance puts there.
CERTAIN = 6.0
#: Share of rows on one plane, or tied, beyond which that proves nothing.
NEARLY_ALL_TIED = 0.8
#: Tied rows, and their share, that chance does not bring.
MIN_TIED, LEAST_SHARE_TIED = 10, 0.02
#: Ties below the top, as a share of those there, from which rows were copied.
COPIED_ROWS = 0.1
#: Share of rows in doubt that may be settled by what is likelier.
FEW_IN_DOUBT = 0.1
#: How far the share of rows at their orders may lie from a sell-out rate that was given.
SHARE_SLACK = 0.05

# --- latent: trees that stand for the features

#: Leaves, learning rate, and trees between two looks at the rows held out.
TREE_LEAVES, TREE_RATE, TREES_PER_LOOK = 6, 0.2, 5
#: How many more trees than in the first fold the others may need: times, plus.
MORE_TREES, FURTHER_TREES = 2, 20
#: Most trees for the level, and for the spread.
MAX_TREES, MAX_SPREAD_TREES = 300, 60
#: Folds; more with fewer rows than `SMALL_SAMPLE`, none of which can be spared if a point mass must
#: still be seen.
TREE_FOLDS, MORE_TREE_FOLDS, SMALL_SAMPLE = 4, 8, 2000
#: Rows that can tell a bend from noise.
MIN_FOR_TREES = 150
#: Numbers of a sparse table that may be written out.
MAX_CELLS = 100_000_000
#: Standard errors, and share of the squared error, by which trees must beat a plane.
CLEARLY, LEAST_GAIN = 3.0, 0.01
#: Smallest spread that trees may predict, as a share of its mean.
LEAST_TREE_SPREAD = 0.2
#: Newton steps towards the truth where it is known which rows are censored, and their least weight.
TREE_ROUNDS, LEAST_CURVATURE = 3, 0.02
#: The same where only limits of the truth are known, and most trees there.
LIMIT_ROUNDS, LEAST_LIMIT_CURVATURE, MAX_LIMIT_TREES = 2, 0.05, 200

# --- latent: diagnosis

#: Of the spread of the truth in a row: shifts that make no difference.
NEGLIGIBLE = 0.05
#: Relative difference of shifts that leaves a decision much the same.
SAME_SHIFT = 0.4
#: Of the spread of the truth: how far decisions from limits may be off, for "yes" and "weakly".
SURE, VAGUE = 0.3, 1.0
#: Standard errors that count for that.
SURE_ERRORS = 2.0
#: Of the spread of limits: what is left of them beside the features where they follow these.
FOLLOWS_FEATURES = 1e-3
#: Share of limits; the few beyond prove little.
LIMITS_REACHED = 0.99
#: Shapes, and levels, at which a varying one is solved for; others are interpolated.
SHAPES_SOLVED, LEVELS_SOLVED = 33, 12

# --- latent: decisions where the data cannot tell

#: Largest sell-out rate that is believed where nobody gives one. What the data cannot tell is then
#: covered up to it; a larger one is dearer where nothing was hidden (never-censored gamma at α =
#: .95: 10% of the best cost with .5, 20% with .6), a smaller one leaves certificates at 50% tight.
MAX_SOLD_OUT = 0.6
#: Units of log-likelihood by which a rate may fit worse than the best one. That of a true
#: distribution falls behind by L with a standard deviation of √(2L), so two of these are 8, as for
#: candidates. With 1.92, the interval of the share, certificates broke where orders followed
#: history or the spread varied (8 of 22 cells; 2 with 8); where nothing was hidden both cost the
#: same.
RATE_LEFT = 8.0
#: A rate that fits worse by so many, with five times what its slopes still promise, is not fitted
#: to the end where `RATE_LEFT` decides.
RATE_HOPELESS = 40.0
#: Times as many rows as families are looked at with, from which on these are asked about a rate
#: before all are.
ROWS_FOR_A_RATE = 4.0
#: Where any distribution is possible, a family that fits best without censoring must allow a rate
#: of so much to be believed about those it rules out: a little may be hidden under any distribution
#: that nearly fits.
LITTLE_SOLD_OUT = 0.1
#: Prior of the sell-out rate of "expected_cost": the chance that nothing was sold out, and the Beta
#: distribution of the rate otherwise, whose mean is 1/3.
PRIOR_NOTHING, PRIOR_RATE = 0.25, (1.0, 2.0)
#: Decisions tried between the smallest and the largest where a cost has no slopes, twice.
DECISIONS_TRIED = 17
