"""Tuning constants of the solvers, by package: what each one trades, and what was measured.

Those of `exact` and `blocks` do not decide what is returned: an exact solver proves its answer with
a duality gap, so a poor constant costs time. Networks and searches prove nothing, so theirs do.
Thresholds that are a matter of rounding in one formula stand beside it.
"""

from __future__ import annotations

import numpy as np

# --- blocks: rows read in blocks, and the screening of many rows.

# Of the features of one chunk: several sweeps over it should find it in the cache.
CACHE_BYTES = 1_000_000

# Entries of the features that a sample of blocks may hold in memory: 320 MB.
SAMPLE_ENTRIES = 40_000_000

# Rows that a sample of blocks holds at least.
SAMPLE_ROWS = 50_000

# Near means within so many standard errors; below 2 reduced problems are unbounded.
NEAR_WIDTHS = 3.0

# Rows within so many near-widths are looked at again between reduced solves, where they fit.
RING_WIDTHS = 2.5

# The least ring that is worth having where few rows may be held.
THIN_RING_WIDTHS = 1.5

# From one sample to the next.
SAMPLE_GROWTH = 6.0

# A sample needs no tighter relative gap than so many parameters per row.
SAMPLE_GAP = 0.05

# Near kinks a parameter beyond which a random share of them is solved first.
OPEN_PER_PARAMETER = 150

# The smallest such share.
SMALLEST_SHARE = 0.1

# A coefficient under ℓ1 that is so many near-widths from zero keeps its sign.
SETTLED_WIDTHS = 10.0

# A reduced solution whose decisions move farther than so many near-widths is not trusted.
TRUST_WIDTHS = 3.0

# Ratio of the 99.5% leverage to the median up to which one width serves all rows.
ALIKE_LEVERAGE = 2.5

# How far the diagonal approximation may be from the leverage.
DIAGONAL_LEVERAGE = 1.6

# How often rows in memory are sorted before they are solved together,
SCREENING_ROUNDS = 4

# and how many passes over blocks are made before the central path is followed.
BLOCK_ROUNDS = 8

# A stage on a random share of the near kinks must shrink the error at least to this share.
THINNED_ERROR = 0.6

# Entries of the features of the rows around the decision that are held: 400 MB.
HELD_ENTRIES = 50_000_000

# Entries of all features up to which blocks may be read into memory as the last resort.
TOGETHER_ENTRIES = 100_000_000

# Features beyond which the matrices of a pass over blocks would be too large.
MAX_BLOCK_FEATURES = 2000

# --- blocks: the central path over blocks, where screening fails.

# Widths 2μ from a kink beyond which smoothing does not matter.
SMOOTH_REACH = 25.0

# Within how many of these widths rows are counted.
SMOOTH_RADII = SMOOTH_REACH * 4.0 ** np.arange(12)

# A Newton step that gains less than this share of the gap is close to the path.
CENTRED = 0.02

# A prediction whose Newton step gains more than this share of the gap is doubted.
OFF_PATH = 1.0

# From one μ of the path to the next.
BARRIER_FACTOR = 0.1

# Share of the gain promised by the gradient that a step must bring.
SUFFICIENT_GAIN = 0.05

# Passes over all blocks, at most.
PATH_PASSES = 120

# Newton steps at one μ, at most.
PATH_STEPS = 15

# Rows of the sample whose path is followed before that of all rows.
PATH_SAMPLE_ROWS = 50_000

# How often screening is tried again from a point of the path,
SCREENING_TRIES = 6

# and with how many passes each time.
SCREENING_TRY_ROUNDS = 4

# --- exact: the interior point.

# Before the iteration counts as stalled; twice that where it is cautious.
MAX_ITERATIONS = 200

# Of the longest step to the boundary,
STEP_SHARE = 0.9995

# and where the usual steps have stalled.
CAUTIOUS_STEP_SHARE = 0.95

# A corrected step shorter than this is tried again with the second-order term damped.
SHORT_STEP = 0.2

# By how much a centrality corrector aims to lengthen the steps.
CORRECTOR_STRETCH = 0.3

# Share of the tolerance: the smallest μ that is aimed at.
BARRIER_FLOOR = 0.01

# Iterations between fresh computations of A'y.
MULTIPLIER_REFRESH = 5

# Cost relative to the distances from the kinks that is as good as none.
FLAT_COST = 1e-6

# Iterations that bring a point of zero cost close to the analytic centre.
CENTRING_ITERATIONS = 12

# Of one scaled chunk of the normal matrix: it should stay in the second-level cache.
GRAM_BYTES = 600_000

# --- exact: one solve of all kinks, or of those that are open.

# Kinks from which fixing settled ones on the way pays.
SHRINK_KINKS = 20_000

# Relative gap at which most kinks have chosen their side.
SHRINK_GAP = 2e-3

# Share of its box by which a multiplier must be off the end for its kink to stay open.
UNDECIDED = 0.03

# Share of open kinks beyond which fixing the rest does not pay.
MAX_OPEN = 0.6

# Open kinks per parameter, at least: too few would leave the problem unbounded.
OPEN_KINKS = 30

# Reduced solves before all kinks are solved together.
OPEN_ROUNDS = 6

# Newton steps to the analytic centre of an optimum of zero cost,
CENTRE_STEPS = 100

# until the squared decrement is below this share of the sum of the weights.
CENTRE_DECREMENT = 1e-10

# Relative gap that is still handed back when rounding stops the iteration.
ACCEPTABLE_GAP = 1e-6

# Cost as a share of that of the best constant decision that counts as none: rounding.
NO_COST = 1e-8

# Share of the tolerance that is tried where the gap was small, but not beside the cost.
CLOSER = 1e-3

# What setting small coefficients to zero, or taking the minimum norm, may cost.
ZEROS_COST = 1e-9

# --- exact: rounded kinks, from a good guess.

# First width of the rounding, at least, as a share of how far kinks are spread;
ROUNDING_WIDTH = 0.0005

# so many kinks a parameter are to lie inside,
ROUNDING_KINKS = 4

# and beyond so large a share of the spread kinks are lines.
ROUNDING_WINDOW = 0.2

# From one width to the next.
ROUNDING_SHRINK = 0.1

# Newton steps after which it is given up: from a neighbour it takes 4 to 25.
ROUNDING_STEPS = 40

# Curvature of kinks just outside, as a share of those inside, where these may not suffice:
ROUNDING_TAIL = 0.005

# at first, and after a step of which less than this share was good.
ROUNDING_SHORT = 0.99

# Share of its slope that a line search may leave,
ROUNDING_SLOPE = 0.3

# and its trials.
ROUNDING_SEARCH = 30

# --- exact: which method, and what is done to features before it.

# Sparse features with at most so many columns are solved dense,
DENSE_COLUMNS = 100

# and so are those with at most so many rows per column, which leave directions free,
NORM_ROWS = 4

# if they have at most so many entries.
DENSE_ENTRIES = 20_000_000

# Columns in the first working set under ℓ1,
WORKING_SET = 64

# and how often it may grow.
WORKING_SET_ROUNDS = 50

# Rows below which looking for repeats costs more than it saves.
GROUPING_ROWS = 256

# Rows of which a first look at repeats is taken.
GROUPING_SAMPLE = 2000

# Share of distinct rows up to which merging them is worth it.
GROUPING_SHARE = 0.7

# Share of its spread that the columns before must leave of a column: below, they are rotated.
CORRELATED = 0.02

# Entries of the features looked at together when columns are centred: 2 MB.
MEANS_CHUNK = 1 << 18

# --- exact: sparse features.

# Columns left for the dense factor.
SCHUR_COLUMNS = 6000

# Products of two entries of a row, 8 bytes each at least.
SCHUR_PAIRS = 400_000_000

# Rows in which columns that never meet are looked for.
SCHUR_SAMPLE = 100_000

# --- exact: least squares, and the reference solver.

# Entries of the features centred at a time: 4 MB.
SQUARES_CHUNK = 1 << 19

# Columns of sparse features for which a dense normal matrix is worth its memory.
SQUARES_COLUMNS = 4000

# Of the normal equations, before singular values take over.
REFINEMENTS = 3

# HiGHS accepts none below 1e-10; the looser ones are for problems on which it gives up.
HIGHS_TOLERANCES = (1e-10, 1e-9, 1e-7)

# Relative gap after which HiGHS is not asked again: the reference should be right to 1e-8.
HIGHS_GAP = 1e-10

# --- losses: costs that networks, trees and descent minimise.

BOX_NODES = 8
"""Points at which the mean of an unknown cost over its box is taken."""

ABSENT = 1e30
"""Half the width of a band in which everything lies: what a row that is not there has."""

# --- descent: smoothed linear decisions.

BOX_RESOLVED, BOX_ROOT = 0.8, 0.2
"""The last box is 0.8 n^(−0.2) spreads wide; `jumps.py` says how that was chosen."""

BOX_WIDTHS = (2.0, 1.4, 1.0)
"""Widths of the boxes one after the other, in units of the last one."""

BOX_STEPS = 80
"""Iterations of L-BFGS in each box."""

START_LEVELS = (0.03, 0.1, 0.25, 0.5, 0.8)
"""Levels of the quantile lines to start from: they differ in how much they risk."""

START_ROWS = 20_000
"""Rows that the quantile lines are fitted to: a start need not be exact."""

MAX_GROUPS = 1000
"""Groups that a sweep tells apart; beyond, the rank of their features takes too long."""

# --- boosting: trees with exact leaves.

DIFFERENCE_WIDTH = 0.1
"""Half the width of a central difference, as a share of the mean distance to the band."""

CANDIDATES, SEARCH_ROUNDS, SECTIONS = 17, 2, 16
"""Values tried in a leaf of a cost that is known by its values: points in each round, rounds, and
sections of a golden section at last. About 50 evaluations of all rows."""

MAX_LEAVES = 131_072
"""LightGBM's own limit."""

FEW_ROWS = 4000
"""Rows that walk through a tree faster than LightGBM writes it down."""

SAME_LEAF = 1e-12
"""Leaves whose outputs differ by less, as a share of scores, look the same."""

# --- neural: networks.

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-7
"""β₁, β₂ and ε of Adam in Keras, hence in the paper."""

SMOOTHING_ENDS = (0.3, 0.01)
"""Widths, in spreads, by which Adam smooths a cost without slopes in its first and last epoch."""

PARTIAL_WIDTH = 0.03
"""The same for `partial_fit`, which does not know how many epochs there will be."""

STAGE_WIDTHS, STAGE_SHARES = (0.25, 0.08, 0.025), (0.25, 0.3, 0.45)
"""Widths of the smoothed cost in the stages of L-BFGS, in spreads, and their shares of passes."""

STAGE_TOLERANCE = 1e-5
"""A stage ends when ten passes gain less than this share."""

LOOK_INTERVAL = 10
"""Passes of L-BFGS between two looks at the progress."""

MEMORY, MEMORY_ALONE = 12, 20
"""Pairs that L-BFGS remembers: many networks at once, where each pair costs memory; and one."""

DECREASE, CURVATURE = 1e-4, 0.9
"""Of the weak Wolfe conditions, as in every textbook."""

LONGEST_SEARCH = 12
"""Trials of a line search after which what is lower is taken."""

VALUE_NOISE = 1e-6
"""Share of a value below which a rise is not believed: values come in float32."""

MAX_PADDING = 1.5
"""Equal rows are merged if filling up their blocks makes no more than so many times the rows."""

CHUNK_NUMBERS = 2_000_000
"""Numbers that networks trained together work on: more do not stay in the cache."""

BLOCK_NUMBERS = 1 << 22
"""Numbers of features that are put in order at a time."""

ROWS_AT_A_TIME = 1 << 13
"""Rows that are decided at a time: each takes as much memory as there are units."""

WORST_COST, HUGE_WEIGHT, LONG_RATE = 2.0, 1000.0, 0.1
"""Training has diverged with so many times the cost at the start, with a weight that no scaled
features need, or with units stuck after steps of a learning rate beyond this."""

LBFGS_PASSES, ADAM_EPOCHS = 200, 80
"""Passes over the data where `max_iter` is None."""

ADAM_RATE, NARROW_LAYER = 0.02, 10
"""Learning rate where it is None; beyond so many units it falls with the root of the width."""

BATCHES, BATCH_ROWS = 50, (32, 512)
"""Batches of an epoch where `batch_size` is None, and the fewest and the most rows of each."""
