"""Text for LaTeX: signs that it reads as commands, and those its default fonts lack."""

from __future__ import annotations

import re

_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "ε": r"$\varepsilon$",
    "Φ": r"$\Phi$",
    "σ": r"$\sigma$",
    "ŷ": r"$\hat{y}$",
    "₁": r"$_1$",
    "₂": r"$_2$",
    "²": r"$^2$",
    "−": r"$-$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "×": r"$\times$",
    "÷": r"$\div$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "±": r"$\pm$",
    "“": "``",
    "”": "''",
    "’": "'",
    "→": r"$\to$",
    "§": r"\S{}",
    "ó": r"\'o",
}

_STARS = re.compile(r"(?<=\))\*+$")


def escape(text: str) -> str:
    r"""Make text safe for LaTeX; stars of significance go up.

    Examples
    --------
    >>> print(escape("LR-εNVC-R saves 5% of α_1"))
    LR-$\varepsilon$NVC-R saves 5\% of $\alpha$\_1
    >>> print(escape("1.27 (1.03, 1.59)***"))
    1.27 (1.03, 1.59)$^{***}$
    """
    stars = _STARS.search(text)
    body = text[: stars.start()] if stars else text
    raised = rf"$^{{{stars.group()}}}$" if stars else ""
    return "".join(_SIGNS.get(sign, sign) for sign in body) + raised
