"""Places for charts, and what is drawn there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unmet.report.markup import Html, element

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Charts"]


@dataclass
class Charts:
    """Figures met while the page is written: light and dark by name."""

    drawn: dict[str, tuple[Figure, Figure]] = field(default_factory=dict)

    def place(
        self, name: str, light: Figure, dark: Figure, finding: str, how: str = "", numbers: str = ""
    ) -> Html:
        """Keep a figure, and make the place where it will stand.

        Below it stands what was found and how to read it; those who do not see it are also told
        the numbers.
        """
        self.drawn[name] = (light, dark)
        height = f"height:{int(light.layout.height)}px"
        chart = element("div", id=f"chart-{name}", class_="chart", style=height)
        image = element("div", chart, role="img", aria_label=f"{finding} {numbers}".strip())
        caption = element("figcaption", element("strong", finding), " " if how else "", how)
        return element("figure", image, caption)
