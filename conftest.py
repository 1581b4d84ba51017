"""Adapters whose module or example needs a package are only read where that is installed."""

from importlib.util import find_spec

collect_ignore = [
    f"src/unmet/adapters/{name}.py" for name in ("skpro", "torch") if not find_spec(name)
]
