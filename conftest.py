"""A module whose classes derive from those of an extra can only be read where that is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("skpro") else ["src/unmet/adapters/skpro.py"]
