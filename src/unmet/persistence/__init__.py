"""Saving models to files that hold no code, and loading them.

`save` writes one file: a short header in JSON, and the model in the format of skops, which keeps
numbers, text and names of types. `load` looks at all names before it makes anything, and makes only
what models of this package consist of. No pickle is ever opened. Needs ``pip install 'unmet[io]'``.
"""

from unmet.persistence.audit import trusted_types
from unmet.persistence.container import Header, read_about, read_header
from unmet.persistence.loading import load
from unmet.persistence.saving import save

__all__ = ["Header", "load", "read_about", "read_header", "save", "trusted_types"]
