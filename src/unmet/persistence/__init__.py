"""Saving models to files that hold no code, and loading them.

`save` writes one archive: a short header in JSON, the state of the model (plain values, arrays, and
labels of our classes, `unmet.persistence.states`), and objects of scikit-learn as parts in the
format of skops. `load` makes only what models of this package consist
of. No pickle is ever opened.
"""

from unmet.persistence.saving import load, read_about, save

__all__ = ["load", "read_about", "save"]
