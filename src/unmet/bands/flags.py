"""Rows of which it is known whether they are censored, for rules that cannot do without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmet.bands.diagnosis import Diagnosis, Identified
from unmet.bands.sample import Sample
from unmet.errors import InvalidInput


@dataclass(frozen=True)
class Flagged:
    """Rows with a flag.

    Attributes
    ----------
    sample : Sample
        Those rows only.
    censored : ndarray of shape (n_rows,), bool
        Whether the truth is at least the observation; otherwise it is the observation.
    n_unknown : int
        Rows that were left out because nobody knows whether they are censored.
    """

    sample: Sample
    censored: NDArray[np.bool_]
    n_unknown: int

    @classmethod
    def of(cls, sample: Sample, rule: str) -> Flagged:
        """Keep the rows with a flag; refuse data in which nothing, or no truth, is known."""
        if sample.censored is None:
            raise InvalidInput(
                f"censored must be given to {rule}, or stock, which says the same, got none."
            )
        known = np.flatnonzero(~np.isnan(sample.censored))
        kept = sample if known.size == sample.n_rows else sample.take(known)
        assert kept.censored is not None
        flags = kept.censored > 0
        if flags.all():
            raise InvalidInput(
                f"censored must be False in at least one row for {rule}, "
                f"got True in all {flags.size} rows that have a flag."
            )
        return cls(kept, flags, sample.n_rows - known.size)

    @property
    def share(self) -> float:
        """Weighted share of censored rows."""
        return float(np.average(self.censored, weights=self.sample.share))

    def diagnosis(self, rule: str, *notes: str, identified: Identified = "yes") -> Diagnosis:
        """Say what a rule found that takes flags for what they are."""
        if self.n_unknown:
            left_out = (
                f"{self.n_unknown} rows without a flag were left out, as if chance had decided "
                "which rows have one."
            )
            notes = (*notes, left_out)
        return Diagnosis(
            rule=rule,
            n_rows=self.sample.n_rows,
            share_censored=self.share,
            identified="weakly" if self.n_unknown and identified == "yes" else identified,
            notes=notes,
        )
