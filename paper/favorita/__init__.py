"""Favorita's own files, and the tables that the paper draws from them."""

from paper.favorita.sales import FavoritaSales, load_favorita
from paper.favorita.tables import FavoritaTables, favorita_tables

__all__ = ["FavoritaSales", "FavoritaTables", "favorita_tables", "load_favorita"]
