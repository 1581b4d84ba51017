"""Choosing ε: rules that say how far the truth may lie above an observation."""

from unmet.bands.diagnosis import Diagnosis, Explanation
from unmet.bands.fixed import FixedBand
from unmet.bands.rule import BandRule
from unmet.bands.sample import Sample

__all__ = ["BandRule", "Diagnosis", "Explanation", "FixedBand", "Sample"]
