"""Real data: bundled demand that was seen whole, and a reader of Favorita's sales."""

from unmet.data.bundled import load_bakery, load_yaz
from unmet.data.favorita import FavoritaSales, load_favorita
from unmet.data.favorita_tables import FavoritaTables, favorita_tables

__all__ = [
    "FavoritaSales",
    "FavoritaTables",
    "favorita_tables",
    "load_bakery",
    "load_favorita",
    "load_yaz",
]
