"""Real data: demand that was seen completely, and lifetimes that were not."""

from unmet.data.bundled import load_bakery, load_sae, load_tires, load_yaz

__all__ = ["load_bakery", "load_sae", "load_tires", "load_yaz"]
