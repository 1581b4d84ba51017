"""Runs that are killed (`kill -9`) at any moment, and what they leave: `make kills`.

usage: python tests/fuzz/kills.py [part ...] [--count N] [--first SEED] [--processes N]
                                  [--folder DIR] [--page FILE]

Each part is a command, or a few lines of Python, that writes files into a folder. It runs twice
undisturbed: what both write alike is the reference. Then it is killed, half of the times after a
share of its computing time, anywhere from its first line to its last, and half of the times just
before a file operation (open to write, rename, remove, lock), so that every moment of writing is
met. After each kill every file must be the reference, what stood there before, or absent; files
that grow by lines may end within one. Then the same command is started again. It must end without
a word about locks or other runs, leave the reference bit by bit, and no temporary file.

Two kills follow each other before a run may end, of `reproduce`, which takes long, five. What is
finished stands in the folder, under a name that stands for the code that was tried, so that this
run, too, may be stopped and goes on. With ``--page`` the counts replace those between the marks.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fuzz import put_between

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
sys.path.append(str(ROOT))  # for the package `paper`
TEMPORARY = ".unmet-"
COUNT = 50
LONGEST = 900  # seconds of the clock for one run on a busy machine; more is a hang


# --- The parts: what is run, and what it needs beside.


def sales_table(folder: Path) -> None:
    """Three items for four months."""
    import numpy as np
    import polars as pl

    generator = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + np.arange(120)
    pl.DataFrame(
        {
            "day": np.tile(days, 3),
            "item": np.repeat(["tea", "café", "=rolls"], days.size),
            "price": generator.normal(10, 1, 3 * days.size).round(2),
            "sales": generator.poisson(20, 3 * days.size),
        }
    ).write_csv(folder / "sales.csv")


_PLAN = "plan sales.csv --model seasonal,line --underage 3 --overage 1 -o orders.csv"
_MORE = "--save plan.unmet --report report.html --log log.parquet"
_FIT = "fit sales.csv --observed sales --features price,item --underage 3 --overage 1"


def before_plan(folder: Path, fresh: bool) -> None:
    """Sales; and, for half of the kills, files of an earlier plan, which are to be replaced."""
    sales_table(folder)
    if not fresh:
        command(folder, f"{_PLAN} {_MORE} --horizon 2")


def plan(folder: Path) -> None:
    command(folder, f"{_PLAN} {_MORE} --horizon 3")


def before_report(folder: Path, fresh: bool) -> None:
    sales_table(folder)
    command(folder, f"{_FIT} --band none -o model.unmet")
    if not fresh:
        command(folder, "decide model.unmet sales.csv -o orders.csv --report report.html --step 5")


def report(folder: Path) -> None:
    command(folder, "decide model.unmet sales.csv -o orders.csv --report report.html")


def tuning(folder: Path) -> None:
    """A search of forty trials in calls of four, with a journal."""
    import numpy as np

    from unmet import Band, LinearDecision, Newsvendor
    from unmet.files import write_text
    from unmet.tuning import search

    generator = np.random.default_rng(0)
    x = generator.normal(size=(80, 3))
    demand = 20 + x @ [3.0, -2.0, 0.0] + generator.gamma(2.0, 3.0, size=80)

    def space(trial):
        band = Band(0, 2) if trial.suggest_categorical("wide", [False, True]) else None
        return {"band": band, "strength": trial.suggest_float("strength", 1e-4, 10.0, log=True)}

    found = search(
        LinearDecision(Newsvendor(4, 1), penalty="l2"),
        space,
        x,
        np.minimum(demand, 24.0),
        truth=demand,
        storage=folder / "journal.jsonl",
        trials=40,
        batch=4,
        cv=2,
        random_state=0,
    )
    lines = [
        f"{trial.number} {trial.params} {[cost.hex() for cost in trial.user_attrs['fold_costs']]}"
        for trial in found.trials
    ]
    write_text(folder / "result", "\n".join(lines) + "\n")


_REPRODUCE = "reproduce --published-settings --datasets 1 --level 0.95 --jobs 1 --out run"


def before_reproduce(folder: Path, fresh: bool) -> None:
    """A run that was stopped before its quick fits, which are a quarter of all."""
    command(folder, _REPRODUCE, "paper.commands")
    run = folder / "run"
    for made in ("tables", "figures", "index.html", "REPORT.md"):
        path = run / made
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    path = run / "fits" / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    quick = ("LR-MSE", "LR-NVC exact", "LR-εNVC exact", "LR truth", "Boosted NVC", "Boosted truth")
    kept = [row for row in rows if row["method"] not in quick]
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), encoding="utf-8"
    )


def reproduce(folder: Path) -> None:
    command(folder, f"{_REPRODUCE} --resume", "paper.commands")


def stop_the_clock() -> None:
    """Let every fit take a second: some tables and verdicts are about times."""
    from unmet.evaluation import experiment

    experiment.process_time = partial(next, itertools.count())  # type: ignore[assignment]


def command(folder: Path, words: str, module: str = "unmet.cli.main") -> None:
    """Do in this process what the command line does."""
    run = import_module(module).run
    os.chdir(folder)
    with open(os.devnull, "w") as nowhere:
        sys.stdout = nowhere
        try:
            code = run(words.split())
        finally:
            sys.stdout = sys.__stdout__
    if code:
        raise SystemExit(code)


@dataclass(frozen=True)
class Part:
    """What is killed.

    Attributes
    ----------
    title : str
        For the page.
    work : callable
        Of a folder: writes files there, or goes on with what is there.
    before : callable or None
        Of a folder, and of whether nothing of an earlier run should be there.
    chain : int
        Kills after which a run is left to end.
    both : bool
        Whether files of an earlier run may be there.
    grows : tuple of str
        Files that tell how often it was started.
    """

    title: str
    work: Callable[[Path], None]
    before: Callable[[Path, bool], None] | None = None
    chain: int = 2
    both: bool = False
    grows: tuple[str, ...] = ()


PARTS = {
    "reproduce": Part(
        "`python -m paper reproduce`",
        reproduce,
        before_reproduce,
        chain=5,
    ),
    "plan": Part("`unmet plan` with all its files", plan, before_plan, both=True),
    "tuning": Part("`search` with a storage", tuning),
    "report": Part("`unmet decide --report`", report, before_report, both=True),
}


# --- One run in a process of its own.

_OPERATIONS = {"os.rename", "os.remove", "os.truncate", "os.mkdir", "fcntl.flock"}


def work(name: str, folder: Path, stop: int, counted: Path) -> None:
    """Run a part here; kill this process before its file operation number `stop`, if not 0."""
    done = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal done
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
            if not (writes and str(path).startswith(str(folder))):
                return
        elif event not in _OPERATIONS:
            return
        done += 1
        if done == stop:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    os.chdir(folder)
    PARTS[name].work(folder)
    told = {"operations": done, "seconds": _computed(os.getpid()), "modules": list(sys.modules)}
    if counted.name != "null":
        counted.write_text(json.dumps(told))


def serve(name: str, modules: Path) -> None:
    """Fork a process for every line of standard input: a folder, an operation, where to count.

    Forked from one that has imported what the part imports: most of the time of a short command is
    spent on imports, which write nothing.
    """
    for each in json.loads(modules.read_text()) if modules.exists() else ():
        if not each.startswith("__"):
            with suppress(Exception):
                import_module(each)
    for line in sys.stdin:
        folder, stop, counted = json.loads(line)
        pid = os.fork()
        if not pid:
            os.setsid()
            with open(f"{folder}.err", "wb") as said:
                os.dup2(said.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            code = 1
            try:
                work(name, Path(folder), stop, Path(counted))
                code = 0
            except SystemExit as error:
                code = int(error.code or 0)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


class Server:
    """Starts runs of a part, one at a time, and kills them."""

    def __init__(self, name: str, modules: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE), "--serve", name, str(modules)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        folder: Path,
        stop: int = 0,
        seconds: float = float("inf"),
        group: bool = False,
        counted: Path | None = None,
    ) -> tuple[bool, str]:
        """Whether the run was killed; a sentence where it ended otherwise than it should."""
        asked = json.dumps([str(folder), stop, str(counted or os.devnull)])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(asked + "\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        answer = ThreadPoolExecutor(1).submit(self._process.stdout.readline)
        end = time.monotonic() + LONGEST
        hung = False
        while not answer.done():
            hung = time.monotonic() > end
            if hung or _computed(pid) >= seconds:
                with suppress(ProcessLookupError):
                    # alone, as one who types kill -9 does, or with its workers
                    os.killpg(pid, signal.SIGKILL) if group or hung else os.kill(
                        pid, signal.SIGKILL
                    )
                break
            time.sleep(0.002)
        code = int(answer.result())
        if hung:
            return False, f"it hung for {LONGEST} seconds"
        said = Path(f"{folder}.err").read_text(encoding="utf-8").strip().splitlines()[-1:]
        killed = code == -signal.SIGKILL
        return killed, "" if killed or not code else f"it ended with {code}: {' '.join(said)}"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.communicate("")


def _computed(pid: int) -> float:
    """Seconds that a process and its children have computed, where the system tells."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    own = sum(map(int, numbers[11:15])) / os.sysconf("SC_CLK_TCK")  # with children that have ended
    return own + sum(_computed(int(child)) for child in children)


# --- What a folder holds, and whether it is whole.


def content(path: Path) -> Any:
    """What a file says: archives without the dates of their members, rows without times."""
    raw = path.read_bytes()
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in raw.splitlines() if line.endswith(b"}")]
        dropped = ("fit_seconds", "seconds", "memory")
        plain = [{k: v for k, v in row.items() if k not in dropped} for row in rows]
        return sorted(json.dumps(row, sort_keys=True) for row in plain)
    return _members(raw)


def _members(raw: bytes) -> Any:
    if not raw.startswith(b"PK\x03\x04"):
        return raw
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        found = {name: _members(archive.read(name)) for name in archive.namelist()}
    if "header.json" in found:  # a model of ours: the checksum is of an archive with dates
        header = json.loads(found["header.json"])
        found["header.json"] = {k: v for k, v in header.items() if k != "sha256"}
    return found


def parses(path: Path) -> bool:
    """Whether a file is whole, by its kind."""
    raw, kind = path.read_bytes(), path.suffix
    ends = {
        ".html": b"</html>\n",
        ".svg": b"</svg>\n",
        ".png": b"IEND\xaeB`\x82",
        ".parquet": b"PAR1",
        ".csv": b"\n",
        ".md": b"\n",
        ".tex": b"\n",
    }
    try:
        if kind in (".npz", ".unmet"):
            return bool(_members(raw))
        if kind == ".json":
            return bool(json.loads(raw))
    except (ValueError, zipfile.BadZipFile):
        return False
    return raw.endswith(ends.get(kind, b""))


def files(folder: Path) -> dict[str, Path]:
    """Files by their names below a folder, but for locks."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path for name, path in found.items() if path.name != ".lock"}


def torn(folder: Path, start: dict[str, Any], reference: dict[str, Any]) -> str:
    """Name a file that is neither what it was, nor what it should be; files may be absent."""
    for name, path in files(folder).items():
        if path.name.startswith(TEMPORARY):
            continue
        if path.suffix == ".jsonl":
            lines = path.read_bytes().split(b"\n")[:-1]  # the last may not have been finished
            if not all(line.startswith(b"{") and line.endswith(b"}") for line in lines):
                return f"{name} has lines that are none"
            continue
        if name not in reference and name not in start:
            return f"{name} is not of this run"
        if not parses(path):
            return f"{name} is not whole"
        if reference.get(name) is not None:
            told = content(path)
            if told != reference[name] and told != start.get(name):
                return f"{name} is neither old nor new"
    return ""


# --- The trials.


@dataclass(frozen=True)
class Reference:
    """What an undisturbed run does.

    Attributes
    ----------
    start : Path
        The folder before it.
    before, after : dict
        What files say before it, and after it; None where two runs differ (times of fits).
    operations : int
        On files.
    seconds : float
        That it computes.
    """

    start: Path
    before: dict[str, Any]
    after: dict[str, Any]
    operations: int
    seconds: float


def learn(name: str, fresh: bool, home: Path) -> Reference:
    """Run a part twice undisturbed."""
    begun = home / f"{name}-{'fresh' if fresh else 'again'}"
    part = PARTS[name]
    if not begun.exists():
        made = Path(tempfile.mkdtemp(dir=home))
        if part.before is not None:
            # in a process of its own: it leaves the folder where we are
            code = f"import kills; kills.PARTS[{name!r}].before(kills.Path({str(made)!r}), {fresh})"
            paths = os.pathsep.join([str(HERE.parent), str(ROOT / "src")])
            environment = {**os.environ, "PYTHONPATH": paths}
            subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        made.rename(begun)
    found, counted, modules = [], home / "counted", home / "modules.json"
    for _ in range(2):
        with tempfile.TemporaryDirectory() as place, Server(name, modules) as server:
            folder = Path(place).resolve() / "work"
            shutil.copytree(begun, folder)
            wrong = server.run(folder, counted=counted)[1]
            if wrong:
                raise SystemExit(f"{name} does not run undisturbed: {wrong}")
            found.append({each: content(path) for each, path in files(folder).items()})
        told = json.loads(counted.read_text())  # the second time without the imports
        modules.write_text(json.dumps(told.pop("modules")))
    after = {each: told if told == found[1][each] else None for each, told in found[0].items()}
    after |= dict.fromkeys(part.grows)
    before = {each: content(path) for each, path in files(begun).items()}
    return Reference(begun, before, after, **told)


def moment(seed: int, place: int, count: int, known: Reference) -> tuple[int, float]:
    """Before which file operation, or after how much computing, kill number `place` comes."""
    chance = random.Random(f"{seed} {place}")
    share = (place // 2 + chance.random()) / max(count / 2, 1)
    if place % 2:
        return 1 + int(min(share, 0.9999) * known.operations), 0.0
    return 0, share * known.seconds


def try_chain(
    server: Server, numbers: list[int], count: int, seed: int, known: Reference
) -> dict[str, Any]:
    """Kill a run at some of its moments, one after the other; then let it end, and look."""
    row: dict[str, Any] = {"numbers": numbers, "kills": 0, "operations": 0, "ended": 0, "left": 0}
    row["failed"] = failed = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "work"
        shutil.copytree(known.start, folder)
        for number in numbers:
            stop, seconds = moment(seed, number, count, known)
            killed = False
            while not killed and (stop or seconds > 0.001):
                after = float("inf") if stop else seconds
                killed, wrong = server.run(folder, stop, after, group=number % 4 == 0)
                if not killed:
                    # what goes on has less to do: once more, and killed sooner
                    row["ended"] += 1
                    wrong = wrong or _differs(folder, known.after)
                    failed += [f"before kill {number}, {wrong}"] if wrong else []
                    stop, seconds = stop * 4 // 5, 0.8 * seconds
            row["kills"] += killed
            row["operations"] += bool(killed and stop)
            left = [each for each in files(folder) if Path(each).name.startswith(TEMPORARY)]
            row["left"] += bool(left)
            wrong = torn(folder, known.before, known.after)
            failed += [f"after kill {number}, {wrong}"] if wrong else []
        wrong = server.run(folder)[1] or _differs(folder, known.after)
        failed += [f"having gone on after kills {numbers}, {wrong}"] if wrong else []
    return row


def _differs(folder: Path, reference: dict[str, Any]) -> str:
    found = files(folder)
    if found.keys() != reference.keys():
        return f"files differ: {sorted(found.keys() ^ reference.keys())[:5]}"
    for name, path in found.items():
        if reference[name] is not None and content(path) != reference[name]:
            return f"{name} is not what an undisturbed run writes"
        if not parses(path):
            return f"{name} is not whole"
    return ""


def code_name() -> str:
    """Hash of what is tried, and of this script."""
    told = hashlib.sha256()
    for path in sorted([HERE, *(ROOT / "src").rglob("*.py")]):
        told.update(path.name.encode() + path.read_bytes())
    return told.hexdigest()[:10]


def run(name: str, count: int, seed: int, processes: int, folder: Path) -> dict[str, Any]:
    """Kill a part so often, but for kills that were tried with this code before."""
    from unmet.runs import append_row, open_run, read_rows

    part, code = PARTS[name], code_name()
    home = folder / f"kills-{name}-{code}"
    about = {"part": name, "code": code, "count": count, "seed": seed}
    with open_run(home, about, parameter="--folder"):
        path = home / "chains.jsonl"
        rows = read_rows(path, lambda row: "numbers" in row)
        starts = [True, False] if part.both else [True]
        known = [learn(name, fresh, home) for fresh in starts]
        numbers = random.Random(seed).sample(range(count), count)
        chains = [numbers[at : at + part.chain] for at in range(0, count, part.chain)]
        tried = {tuple(row["numbers"]) for row in rows}
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(processes))
            servers = [
                stack.enter_context(Server(name, home / "modules.json")) for _ in range(processes)
            ]
            idle = SimpleQueue[Server]()
            for server in servers:
                idle.put(server)

            def attempt(place: int, chain: list[int]) -> dict[str, Any]:
                server = idle.get()
                try:
                    return try_chain(server, chain, count, seed, known[place % len(known)])
                finally:
                    idle.put(server)

            tasks = [
                pool.submit(attempt, place, chain)
                for place, chain in enumerate(chains)
                if tuple(chain) not in tried
            ]
            for task in as_completed(tasks):
                append_row(path, task.result())
                rows.append(task.result())
                print(f"{name}: {json.dumps(task.result())}", file=sys.stderr, flush=True)
    found = {each: sum(row[each] for row in rows) for each in ("kills", "operations", "left")}
    failed = [each for row in rows for each in row["failed"]]
    return {"part": name, "code": code, **found, "chains": len(rows), "failed": failed}


def table(found: list[dict[str, Any]]) -> str:
    """Counts as Markdown."""
    codes = ", ".join(sorted({f"`{each['code']}`" for each in found}))
    lines = [
        f"Last run: {date.today().isoformat()}, code {codes}.",
        "",
        "| what was killed | kills | of them at a file operation | left a temporary file "
        "| runs that went on to the end | failures |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {PARTS[each['part']].title} | {each['kills']} | {each['operations']} "
        f"| {each['left']} | {each['chains']} | {len(each['failed'])} |"
        for each in found
    ]
    return "\n".join(lines)


def write_page(page: Path, found: list[dict[str, Any]]) -> None:
    """Put the counts between the marks."""
    put_between(page, "kills", table(found))


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them by default")
    parser.add_argument("--count", type=int, default=COUNT, help="kills of each part")
    parser.add_argument("--first", type=int, default=0, help="the seed of the moments")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "fuzz")
    parser.add_argument("--page", type=Path, help="write the counts into this file")
    chosen = parser.parse_args()
    found = [
        run(name, chosen.count, chosen.first, chosen.processes, chosen.folder.resolve())
        for name in chosen.parts or PARTS
    ]
    print(table(found))
    failed = [f"{each['part']}, {wrong}" for each in found for wrong in each["failed"]]
    print("\n".join(failed))
    if chosen.page is not None:
        write_page(chosen.page, found)
    raise SystemExit(1 if failed else 0)


if __name__ == "__mp_main__":  # in a worker of `reproduce`
    stop_the_clock()
if __name__ == "__main__":
    main()
