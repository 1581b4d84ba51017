"""Tuning constants of the band rules, by room: what each trades, and what was measured.

Limits of floating-point arithmetic, quadrature nodes and names stand with the code that needs
them; here is what could have been chosen otherwise.
"""

from __future__ import annotations

# --- fingerprint: which order rule the observations betray

#: Typical observations of more units than this are measured or computed, not counted.
MOST_UNITS = 1e5
#: Share of the observations that must be multiples of a unit.
ON_UNIT = 0.9
#: The same for a pack of units: a few values may all be multiples by chance, so it needs more.
ON_PACK = 0.98
#: Orders that are not rounded are tried if this share of the observations is off the unit.
OFF_UNIT = 0.005
#: Lots that are tried beside the unit; each costs a search over all rules.
MOST_LOTS = 4
#: Histogram that rules out groups without a sort: finer is closer and takes more memory.
HISTOGRAM_CELLS = 128
#: Groups for which such histograms are kept in memory.
MOST_GROUPS_OF_HISTOGRAMS = 20_000
#: A rounder factor is preferred if it loses no more than this share of the rows at the order.
ROUNDER_LOSS = 0.005
#: A factor so near to one with two decimals (a share of it) may be that one on a computer.
NEARLY_ROUND = 0.002
#: More rows than this do not sharpen the choice between candidates; the best few see all rows.
ROWS_TO_SCREEN = 40_000
#: Those best few.
REFINED = 6
#: No p-value survives the correction with fewer rows at the order.
FEWEST_AT = 8
#: Weeks to either side whose mean is the level that a row is compared with.
WEEKS_AROUND = 8
#: What is left of the unknown starting value when smoothing is taken at its word.
STARTING_SHARE = 0.05
#: A hazard above the order is taken from no fewer rows.
FEWEST_ABOVE = 10
#: If nearly nothing stays below its order, the series computes itself: growth, not censoring.
FEWEST_BELOW = 5
SHARE_BELOW = 0.02
#: Median shortfall below the order, in standard deviations of a Poisson variable of its size.
LEAST_SHORTFALL = 0.4
#: Mean squared difference of neighbours, 1 for Poisson counts. A demand that moves by one unit a
#: day looks like an order of yesterday's value and one.
LEAST_UNREST = 0.25
#: A series leaves the common rule if what it shows is less likely than this under the rule.
UNLIKELY = 0.01
#: It must be sold out at least this part as often as all series together, but for chance.
SUPPORT = 1 / 3

# --- pictures of a diagnosis

#: Levels in the order in which they claim their place on the axis.
TICK_LEVELS = (0.5, 0.05, 0.95, 0.25, 0.75, 0.9, 0.1, 0.99, 0.01)
#: Least distance between labels of levels, wide and narrow, as a share of the axis.
LABELS_APART = (0.07, 0.085)
#: A gap below this share of the range is no gap.
VISIBLE = 0.01
#: Share of the panel's width and height that the word "hidden" takes, with some air.
WORD_WIDTH, WORD_HEIGHT = 0.25, 0.14

# --- classic: rules to compare with

#: More levels than these are interpolated between lines; each line is one exact fit.
MOST_LINES = 25
#: Share of censored rows below the highest quantile of `QuantileTailBand` that does no harm.
TOUCHED = 0.02
#: Entries of sparse features for which a dense copy is acceptable: 800 MB.
LARGEST_DENSE = 100_000_000
#: Times the first spread at which projection counts as diverged: no fixed point is that far off.
DIVERGED = 1e4
#: Neighbours looked at together by `KaplanMeierBand`: 16 MB per array.
NEIGHBOURS_AT_A_TIME = 1 << 21
#: Training rows for which its diagnosis checks how high the estimate goes.
ROWS_LOOKED_AT = 500
#: Rows of sparse features that are written out together to go down a tree.
DENSE_ROWS_AT_A_TIME = 1 << 13

# --- rules that train the model: audited, searched

#: Rows to be expected beyond the quantile, per parameter of ε: fewer make the diagnosis "weakly".
ENOUGH_BEYOND = 5
#: A model whose decisions follow a shift up to this share of it follows it exactly.
FOLLOWS_A_SHIFT = 1e-6
#: Shifts tried for a cost without slopes; each prices all audited rows.
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
#: Share hidden that a shape alone cannot prove.
INCREDIBLE = 0.75
#: Steps of the lattice, in scales, from which a histogram shows the steps and not the shape.
COARSE = 0.1
#: Rows may be censored so many times more often than on average: bounds ε where little is.
CENSORED_MORE_OFTEN = 3.0
#: Levels of the observation's quantile above which that bound says nothing.
TOP_LEVEL = 0.995
#: Equally likely quantiles by which an expectation is taken.
N_NODES = 49
#: Rows whose expectations are taken together; more take more memory.
ROWS_AT_A_TIME = 500
#: Rows over which the numbers of a diagnosis are averaged; a saved rule keeps their features.
REPRESENTATIVE_ROWS = 400
