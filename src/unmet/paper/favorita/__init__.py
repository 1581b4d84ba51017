"""Favorita's own files, and the tables that the paper draws from them."""

from unmet.paper.favorita.sales import FavoritaSales, load_favorita
from unmet.paper.favorita.tables import FavoritaTables, favorita_tables

__all__ = ["FavoritaSales", "FavoritaTables", "favorita_tables", "load_favorita"]
