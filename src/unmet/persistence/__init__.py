"""Save models to files that hold no code, and load them.

`save` writes one archive: a short header in JSON, the state of the model (plain values, arrays, and
labels of our classes, `unmet.persistence.states`), and objects of scikit-learn in the format of
skops. `load` creates only objects that models of this package consist of. No pickle is ever opened.
"""

from unmet.persistence.saving import load, read_about, save

__all__ = ["load", "read_about", "save"]
