"""Real data: demand that was seen whole, lifetimes that were not, and a reader of Favorita."""

from unmet.data.bundled import load_bakery, load_yaz
from unmet.data.favorita import FavoritaSales, load_favorita
from unmet.data.favorita_tables import FavoritaTables, favorita_tables
from unmet.data.lifetimes import load_sae, load_tires

__all__ = [
    "FavoritaSales",
    "FavoritaTables",
    "favorita_tables",
    "load_bakery",
    "load_favorita",
    "load_sae",
    "load_tires",
    "load_yaz",
]
