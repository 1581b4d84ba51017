"""Run the pages of the gallery and save their plots: ``python docs/make_gallery.py [name …]``.

Small ones go to images/gallery, where gallery/index.md shows them. The pages themselves are
executed by ``make docs``; here and in the tests their cells run in order, without a kernel.
"""

import io
import re
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

GALLERY = Path(__file__).parent / "gallery"
IMAGES = Path(__file__).parent / "images" / "gallery"
CELL = re.compile(r"^```\{code-cell\}.*?\n(.*?)^```$", re.M | re.S)
WIDTH = 460  # pixels


def notebooks():
    """Pages with cells, by name."""
    return {path.stem: path for path in sorted(GALLERY.glob("*.md")) if path.stem != "index"}


def cells(path):
    """Code of each cell, without lines that say how it is shown."""
    found = CELL.findall(path.read_text(encoding="utf-8"))
    return [re.sub(r"^:.*\n", "", code, flags=re.M) for code in found]


def run(path, plot=None):
    """Run all cells in one new namespace; give how many charts were drawn, and what was printed.

    The last chart is saved as `plot`.
    """
    space, printed, drawn = {"__name__": path.stem}, io.StringIO(), 0
    with redirect_stdout(printed):
        for number, code in enumerate(cells(path), start=1):
            exec(compile(code, f"{path.name}, cell {number}", "exec"), space)
            drawn += "\nchart = " in code
    if plot is not None:
        import vl_convert

        spec = {**space["chart"].spec, "background": "white"}
        if "layer" in spec:
            spec["width"] = WIDTH
        scale = 1.0 if "layer" in spec else WIDTH / 560
        plot.write_bytes(vl_convert.vegalite_to_png(spec, vl_version="6.4", scale=scale))
    return drawn, printed.getvalue()


def main(names):
    for name, path in notebooks().items():
        if names and name not in names:
            continue
        started = time.process_time()
        _, printed = run(path, IMAGES / f"{name}.png")
        print(f"{name}: {time.process_time() - started:.0f} s\n{printed}")


if __name__ == "__main__":
    main(sys.argv[1:])
