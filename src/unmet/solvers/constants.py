"""Tuning constants of the solvers, by room: what each one trades, and what was measured.

None of them decides what is returned: every exact solver proves its answer with a duality gap, so a
poor constant costs time. Thresholds that are a matter of rounding in one formula stand beside it.
"""

from __future__ import annotations

import numpy as np

# --- blocks: rows read in blocks, and the screening of many rows.

CACHE_BYTES = 1_000_000
"""Of the features of one chunk: several sweeps over it should find it in the cache."""

SAMPLE_ENTRIES = 40_000_000
"""Entries of the features that a sample of blocks may hold in memory: 320 MB."""

SAMPLE_ROWS = 50_000
"""Rows that a sample of blocks holds at least."""

NEAR_WIDTHS = 3.0
"""Near means within so many standard errors; below 2 reduced problems are unbounded."""

RING_WIDTHS = 2.5
"""Rows within so many near-widths are looked at again between reduced solves, where they fit."""

THIN_RING_WIDTHS = 1.5
"""The least ring that is worth having where few rows may be held."""

SAMPLE_GROWTH = 6.0
"""From one sample to the next."""

SAMPLE_GAP = 0.05
"""A sample needs no tighter relative gap than so many parameters per row."""

OPEN_PER_PARAMETER = 150
"""Near kinks a parameter beyond which a random share of them is solved first."""

SMALLEST_SHARE = 0.1
"""The smallest such share."""

SETTLED_WIDTHS = 10.0
"""A coefficient under ℓ1 that is so many near-widths from zero keeps its sign."""

TRUST_WIDTHS = 3.0
"""A reduced solution whose decisions move farther than so many near-widths is not trusted."""

ALIKE_LEVERAGE = 2.5
"""Ratio of the 99.5% leverage to the median up to which one width serves all rows."""

DIAGONAL_LEVERAGE = 1.6
"""How far the diagonal approximation may be from the leverage."""

SCREENING_ROUNDS = 8
"""Passes over all rows, samples not counted, before screening gives up."""

THINNED_ERROR = 0.6
"""A stage on a random share of the near kinks must shrink the error at least to this share."""

HELD_ENTRIES = 50_000_000
"""Entries of the features of the rows around the decision that are held: 400 MB."""

TOGETHER_ENTRIES = 100_000_000
"""Entries of all features up to which blocks may be read into memory as the last resort."""

MOST_BLOCK_FEATURES = 2000
"""Features beyond which the matrices of a pass over blocks would be too large."""

# --- blocks: the central path over blocks, where screening fails.

SMOOTH_REACH = 25.0
"""Widths 2μ from a kink beyond which smoothing does not matter."""

SMOOTH_RADII = SMOOTH_REACH * 4.0 ** np.arange(12)
"""Within how many of these widths rows are counted."""

CENTRED = 0.02
"""A Newton step that gains less than this share of the gap is close to the path."""

OFF_PATH = 1.0
"""A prediction whose Newton step gains more than this share of the gap is doubted."""

BARRIER_FACTOR = 0.1
"""From one μ of the path to the next."""

SUFFICIENT_GAIN = 0.05
"""Share of the gain promised by the gradient that a step must bring."""

PATH_PASSES = 120
"""Passes over all blocks, at most."""

PATH_STEPS = 15
"""Newton steps at one μ, at most."""

PATH_SAMPLE_ROWS = 50_000
"""Rows of the sample whose path is followed before that of all rows."""

SCREENING_TRIES = 6
"""How often screening is tried again from a point of the path,"""

SCREENING_TRY_ROUNDS = 4
"""and with how many passes each time."""
