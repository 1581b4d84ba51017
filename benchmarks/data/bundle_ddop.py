"""Make the data files of `unmet.data` from the PyPI package ddop 0.7.6 (BSD-3-Clause).

usage: python benchmarks/data/bundle_ddop.py [--archive ddop-0.7.6.tar.gz]

Without an archive it is fetched from PyPI. Demand is taken over as it is. What is changed, and why:

- ``weekday`` is dropped and computed from ``date`` on loading: in the bakery data every row has
  that of the day before (2016-01-02, a Saturday, is called FRI, while the holidays fit the dates),
  and in the restaurant data one row is wrong (2014-12-31).
- ``month`` and ``year`` are dropped because ``date`` says them, ``weekend`` because it disagrees
  with ``date`` in two rows.
- Flags become booleans, rows are sorted by series and date.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import polars as pl

VERSION = "0.7.6"
FOLDER = Path(__file__).resolve().parents[2] / "src" / "unmet" / "data"
DIGEST = "def7756324fae64e64f9318b195c1daa7c4141611543a16ba744daf3993a5da2"
DERIVED = ("weekday", "month", "year", "weekend")
NOTICE = f"""\
bakery.parquet and yaz.parquet in this folder were made from the data files of the Python package
ddop, version {VERSION} (https://pypi.org/project/ddop/), by benchmarks/data/bundle_ddop.py, which
says what was changed. They are distributed under the licence of that package:

"""


def fetch() -> bytes:
    """Download the source archive from PyPI."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", folder, f"ddop=={VERSION}"], check=True)
        return next(Path(folder).glob("ddop-*.tar.gz")).read_bytes()


def read(archive: tarfile.TarFile, name: str) -> pl.DataFrame:
    """Features and target of one data set side by side."""
    parts = []
    for kind in ("data", "target"):
        member = archive.extractfile(f"ddop-{VERSION}/ddop/datasets/data/{name}_{kind}.csv")
        assert member is not None
        parts.append(pl.read_csv(member.read(), try_parse_dates=True))
    table = pl.concat(parts, how="horizontal")
    flags = [name for name in table.columns if name.startswith(("is_", "promotion_"))]
    return table.drop(DERIVED, strict=False).with_columns(pl.col(flags).cast(pl.Boolean))


def write(table: pl.DataFrame, path: Path) -> None:
    """Write in one step, so that an interrupted run leaves a whole file."""
    fresh = path.with_suffix(".new")
    table.write_parquet(fresh, compression="zstd", compression_level=22, statistics=False)
    fresh.replace(path)
    print(f"{path.name}: {table.height:,} rows, {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archive", type=Path, help="ddop-0.7.6.tar.gz, if already downloaded")
    chosen = parser.parse_args()
    content = chosen.archive.read_bytes() if chosen.archive else fetch()
    if hashlib.sha256(content).hexdigest() != DIGEST:
        parser.error("the archive is not the one this script was written for.")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        bakery = read(archive, "bakery").with_columns(pl.col("store", "product").cast(pl.Int16))
        write(bakery.sort("store", "product", "date"), FOLDER / "bakery.parquet")
        write(read(archive, "yaz").sort("date"), FOLDER / "yaz.parquet")
        licence = archive.extractfile(f"ddop-{VERSION}/LICENSE")
        assert licence is not None
        (FOLDER / "LICENSE.ddop.txt").write_text(NOTICE + licence.read().decode())


if __name__ == "__main__":
    main()
