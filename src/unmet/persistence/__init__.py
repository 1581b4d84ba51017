"""Saving models to files that hold no code, and loading them.

`save` writes one file: a short header in JSON, and the state of the model, which consists of plain
values, arrays, and labels of our classes (`unmet.persistence.states`); objects of scikit-learn in
it are parts in the format of skops. `load` looks at all names before it makes anything, and makes
only what models of this package consist of. No pickle is ever opened.
"""

from unmet.persistence.container import Header, read_about, read_header
from unmet.persistence.parts import trusted_types
from unmet.persistence.saving import load, save

__all__ = ["Header", "load", "read_about", "read_header", "save", "trusted_types"]
