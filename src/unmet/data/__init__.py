"""Bundled example data: real demand that was seen whole, with its licence beside it."""

from unmet.data.bundled import load_bakery, load_yaz

__all__ = ["load_bakery", "load_yaz"]
