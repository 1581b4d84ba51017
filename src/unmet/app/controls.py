"""Controls of the page: files and columns in the sidebar, then costs and lots."""

from __future__ import annotations

import ctypes
import gc
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar, cast

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from unmet.app.planning import MAX_MEGABYTES, guess_plan, guess_truth, has_history, read_uploaded
from unmet.censoring.model import RATES
from unmet.censoring.text import capital, labels_for
from unmet.errors import InvalidInput, UnmetError
from unmet.planning import example
from unmet.planning.example import EXAMPLE, Example
from unmet.tables.dates import PARTS
from unmet.tables.reading import TableFile

if TYPE_CHECKING:
    import polars

    from unmet.charts import Chart
    from unmet.planning import Schema
    from unmet.progress import Step


MAX_ROWS = 2_000  # of a table that is shown; the file has all
PROBLEMS = {"newsvendor": "Orders", "pricing": "Prices", "replacement": "Replacement ages"}
LAST_ROWS = 100  # decided on where nobody says which rows are to come
DATA_SAY = "estimated"
_OBSERVED = {
    "newsvendor": "Sales",
    "pricing": "Offered price",
    "replacement": "Time in service",
}
_FLAGS = {
    "newsvendor": {"censored_column": "Sold out: yes or no"},
    "pricing": {"accepted_column": "Offer accepted: yes or no"},
    "replacement": {
        "censored_column": "Not failed: yes or no",
        "failed_column": "Failed: yes or no",
    },
}
KINDS = ["csv", "tsv", "txt", "gz", "xlsx", "parquet", "pq"]
LIMIT = f"CSV, Excel or Parquet, at most {MAX_MEGABYTES} MB; stays on this computer."
WAYS = ("Orders for the coming days", "What-if analysis of rows")
"""Ways to work: from a history, and on rows of any kind."""
NONE = "–"


@dataclass(frozen=True)
class PageChoice:
    """Tables and columns that were chosen.

    Attributes
    ----------
    table, coming : polars.DataFrame
        Rows to learn from and to decide on.
    names : tuple of two str
        Of the files.
    key : str
        Tells whether anything must be learned anew.
    about : str
        What is decided on, in labels.
    labels : dict
        Of a `DecisionPlan`, without costs.
    truth : str or None
        Column of `coming`.
    largest_cost : float
        Where sliders of costs end.
    """

    table: polars.DataFrame
    coming: polars.DataFrame
    names: tuple[str, str]
    key: str
    about: str
    labels: dict[str, Any]
    truth: str | None
    largest_cost: float

    @property
    def costs(self) -> dict[str, tuple[str, float]]:
        """Label and start of each cost that no column gives."""
        problem = self.labels["problem"]
        if problem == "replacement":
            return {
                "planned": ("Cost of a planned replacement", 1.0),
                "failure": ("Cost of a failure", 8.0),
            }
        if self.labels.get("goal") == "revenue":
            return {"unit_cost": ("Unit cost", 0.0)}
        both = {"underage": ("Underage cost", 3.0), "overage": ("Overage cost", 1.0)}
        return {name: each for name, each in both.items() if not self.labels.get(f"{name}_column")}


@dataclass(frozen=True)
class Source:
    """A table that somebody brought, or the example.

    Attributes
    ----------
    name : str
        Of the file.
    key : str
        Tells files apart.
    file : TableFile
    history : bool
        Whether orders are planned from a history; otherwise rows are decided on.
    decimal : str or None
        Decimal sign that the user said.
    """

    name: str
    key: str
    file: TableFile
    history: bool
    decimal: str | None = None


@dataclass(frozen=True)
class Asked:
    """What the user said at the side of a history.

    Attributes
    ----------
    labels : dict
        Columns, as labels of a plan.
    guess : Schema or None
        What `unmet plan` would guess; None where it would ask.
    unit : str
        What orders are counted in: days, weeks, months or quarters.
    future : polars.DataFrame or None
        What is known of coming days.
    future_name : str or None
    key : str
        Tells whether anything must be learned anew, but for what is moved.
    on_hand : str or None
        Column of what was left at the end of each day: stock lasts.
    on_order : polars.DataFrame or None
        What is on its way.
    on_order_name : str or None
    """

    labels: dict[str, Any]
    guess: Schema | None
    unit: str
    future: polars.DataFrame | None
    future_name: str | None
    key: str
    on_hand: str | None = None
    on_order: polars.DataFrame | None = None
    on_order_name: str | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Schema and country, as parameters of an `OrderPlan`."""
        from unmet.planning import Schema

        columns = {name: value for name, value in self.labels.items() if name != "country"}
        schema = Schema(**columns, on_hand=self.on_hand)
        return {"schema": schema, "country": self.labels["country"]}


@st.cache_resource(max_entries=6, show_spinner="Reading the file …")
def read(name: str, data: bytes, decimal: str | None, text: tuple[str, ...] = ()) -> TableFile:
    """Read a file once."""
    return replace(read_uploaded(name, data, decimal, text=text), cells=None)


@st.cache_data(max_entries=6, show_spinner=False)
def _is_history(key: str, decimal: str | None, _table: polars.DataFrame) -> bool:  # noqa: ARG001
    return has_history(_table)


@st.cache_resource
def _example() -> Example:
    return example()


def bring() -> Source:
    """Ask for a file and for a way to work with it."""
    with st.sidebar:
        st.header("Data", divider="gray")
        past = st.file_uploader(
            "History of sales or observations",
            KINDS,
            help=LIMIT,
            key="past",
            max_upload_size=MAX_MEGABYTES,
        )
        if past is None:
            st.caption("Example data: a restaurant, five dishes over two years.")
            sales = _example().sales
            offer("sales.csv of the example", sales.write_csv, "sales.csv", type="tertiary")
            return Source("sales.csv", "example", TableFile(sales), _way("example", True))
        data = past.getvalue()
        key = sha256(data).hexdigest()
        decimal = st.selectbox(
            "Decimal sign", [".", ","], None, key=f"{key}-decimal", placeholder="detected"
        )
    file = read(past.name, data, decimal)
    with st.sidebar:
        history = _way(key, _is_history(key, decimal, file.table))
    return Source(past.name, key, file, history, decimal)


def _way(key: str, history: bool) -> bool:
    """Ask which way to work, starting from what the table seems to be."""
    chosen = st.selectbox("Task", WAYS, 0 if history else 1, key=f"{key}-way")
    return chosen == WAYS[0]


def choose(source: Source) -> PageChoice:
    """Ask for the rows to decide on, and for columns, starting from a guess."""
    table, key = source.file.table, source.key
    name: str | None = "next.csv"
    if key == "example":
        coming = _example().truth
        offer("next.csv of the example", coming.write_csv, "next.csv", type="tertiary")
        about = "the next quarter, 450 rows"
    else:
        label = "Rows to decide on (optional)"
        coming, name, _ = beside(source, label, "Needs the same features.", "coming")
        about = "" if coming is None else f"the {coming.height:,} rows of {name}"
    known = coming is not None
    if not known:
        coming = table.tail(LAST_ROWS)
        about = f"the last {coming.height:,} rows of {source.name}"
    st.header("Columns", divider="gray")
    problem = st.selectbox("Decision", list(PROBLEMS), format_func=PROBLEMS.__getitem__)
    guess = guess_plan(table, problem)
    if key == "example" and problem == "newsvendor":
        guess = EXAMPLE

    def one(label: str, field: str, options: Sequence[str]) -> str | None:
        return one_column(label, f"{key}-{problem}-{field}", options, guess.get(field))

    def many(label: str, field: str, options: Sequence[str]) -> tuple[str, ...]:
        start = [name for name in guess.get(field, ()) if name in options]
        place = f"{key}-{problem}-{field}"  # other data ask anew
        return tuple(st.multiselect(label, options, start, key=place, placeholder=NONE))

    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    observed = one(_OBSERVED[problem], "observed", numeric)
    if observed is None:
        raise InvalidInput("Choose the column of observations.")
    others = [name for name in table.columns if name != observed]
    labels: dict[str, Any] = {"observed": observed, "problem": problem}
    labels["features"] = many("Features", "features", others)
    labels["date"] = one("Date", "date", others)
    if labels["date"] is not None:
        labels["series"] = many("Series: columns that identify one", "series", others)
        labels["calendar"] = many("Calendar features", "calendar", list(PARTS))
    if problem == "pricing":
        goals = {"cost": "minimum cost", "revenue": "maximum revenue"}
        labels["goal"] = st.selectbox("Goal", list(goals), format_func=goals.__getitem__)
    with st.expander("Flags, stock and costs by row"):
        for field, label in _FLAGS[problem].items():
            labels[field] = one(label, field, others)
        if problem == "newsvendor":
            labels["stock_column"] = one("Available stock", "stock_column", numeric)
        if problem != "replacement" and labels.get("goal") != "revenue":
            for field in ("underage", "overage"):
                name = f"{field}_column"
                labels[name] = one(f"{field.capitalize()} cost", name, numeric)
        features = list(labels["features"])
        labels["categories"] = many("Numeric categories", "categories", features)
    truth = None
    if known:
        label = "Truth, for evaluation (optional)"
        truth = one_column(label, f"{key}-truth-truth", coming.columns, guess_truth(coming))
    label = "Maximum of the cost sliders"
    largest = float(st.number_input(label, 1.0, 1e9, 20.0, key=f"{problem}-largest"))
    names = (source.name, name or "next.csv")
    return PageChoice(table, coming, names, key, about, labels, truth, largest)


def one_column(label: str, key: str, options: Sequence[str], start: Any) -> str | None:
    """Ask for a column; it may be none, also where one was guessed."""
    listed = [NONE, *options]
    index = listed.index(start) if start in options else 0
    found: str = st.selectbox(label, listed, index, key=key)
    return None if found == NONE else found


def beside(source: Source, label: str, about: str, key: str) -> tuple[Any, str | None, str]:
    """Ask for a table beside that of sales: the table, its name, and what tells tables apart."""
    import polars as pl

    brought = st.file_uploader(
        label,
        KINDS,
        help=f"{about} {LIMIT}",
        key=f"{source.key}-{key}",  # that of another table is another one
        max_upload_size=MAX_MEGABYTES,
    )
    if brought is None:
        return None, None, ""
    text = tuple(name for name, kind in source.file.table.schema.items() if kind == pl.String)
    data = brought.getvalue()
    table = read(brought.name, data, source.decimal, text).table
    return table, brought.name, sha256(data).hexdigest()


def move(choice: PageChoice, *, rates: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Show the sliders that matter for the problem, and read them: what is assumed, and lots."""
    problem, largest = choice.labels["problem"], choice.largest_cost
    assumed: dict[str, Any] = {}
    with st.container(border=True):
        *wide, fourth, fifth = st.columns([3, 3, 3, 1.2, 1.2], gap="medium")
        step = float(f"{largest / 200:.1g}")
        for place, (name, (label, start)) in zip(wide, choice.costs.items(), strict=False):
            least = 0.0 if name == "unit_cost" else step
            key = f"{problem}-{name}-{largest}"
            found = place.slider(label, least, largest, min(start, largest), step, key=key)
            assumed[name] = float(found)
        if rates:
            labels = labels_for(problem)
            assumed["sellout_rate"] = wide[2].select_slider(
                f"Assumed {labels.rate}",
                [None, *RATES],
                None,
                key=f"{choice.key}-{problem}-rate",
                help=f"The {labels.rate_means}.",
                format_func=lambda rate: DATA_SAY if rate is None else f"{rate:.0%}",
            )
        usual, about = float(problem == "newsvendor"), "Lot size; 0 keeps fractions."
        lots = fourth.number_input("Lot size", 0.0, 1e9, usual, key=f"{problem}-step", help=about)
        lower = fifth.number_input("Minimum", 0.0, 1e12, 0.0, key=f"{problem}-lower")
    return assumed, {"step": lots or None, "lower": lower}


# --- What both ways of the page show alike.


_Result = TypeVar("_Result")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding: 3rem 2.5rem 3rem; max-width: 84rem; }
[class*="st-key-figures"] [data-testid="stMetricValue"] { font-size: 1.7rem; }
[class*="st-key-figures"] [data-testid="stMetricLabel"] p { white-space: normal; }
.st-key-earlier { opacity: .55; }
[data-testid="stFileUploaderDropzoneInstructions"] * { white-space: normal; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 3rem 1rem 2rem; }
  [class*="st-key-figures"] [data-testid="stColumn"] { min-width: calc(50% - 1rem); flex: 1 1 0; }
}
</style>"""
"""Narrow margins on a phone, and two key figures beside each other."""


def plain(text: str) -> str:
    r"""Escape text for Markdown: no link, plot or tag of it comes alive.

    Examples
    --------
    >>> print(plain("![x](http://a)"))
    \!\[x\]\(http\:\/\/a\)
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


_TURNS = threading.Semaphore(2)  # fits at once: more slow each other down on few cores
PATIENCE = 0.4
"""Seconds for which the page waits before it shows how far a fit is."""


class Stopped(BaseException):
    """Ends a fit; nothing that a fit tries may catch it."""


class Job:
    """A fit in a thread of its own, which all who wait for it share.

    Parameters
    ----------
    make : callable
        Takes a `Step` and gives the result.
    session : str
        Who asked for it first.
    """

    def __init__(self, make: Callable[[Step], Any], session: str) -> None:
        self._make, self.waiting = make, {session}
        self.begin()

    def begin(self) -> None:
        """Start the fit, also one that was stopped."""
        self.step = 0, 1, "waiting for another fit"
        self.found: Any = None
        self.error: BaseException | None = None
        self.begun = time.monotonic()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            with _TURNS:
                self._tell(*self.step)
                self.found = self._make(self._tell)
            # streamlit looks for garbage after every run of the page: not among all that stays
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        except BaseException as error:  # a library may panic
            self.error = error

    def _tell(self, done: int, total: int, doing: str) -> None:
        self.step = done, total, doing
        if runtime.exists():  # sessions that were closed do not wait any more
            self.waiting = set(filter(runtime.get_instance().is_active_session, self.waiting))
        if not self.waiting:
            raise Stopped

    def leave(self, session: str) -> None:
        """Wait no more; a fit that nobody waits for ends where it is."""
        self.waiting.discard(session)
        if not self.waiting and self.thread.is_alive():
            thread = ctypes.c_ulong(self.thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Stopped))


class Waiting(Exception):  # noqa: N818
    """The answer takes longer: the page shows how far it is, and the answer before."""


@st.cache_resource(max_entries=8, show_spinner=False)
def _job(key: str, _make: Callable[[Step], Any], _session: str) -> Job:  # noqa: ARG001
    return Job(_make, _session)


def _session() -> str:
    return str(getattr(get_script_run_ctx(), "session_id", ""))


def shared(key: str, make: Callable[[Step], _Result], show: Callable[[], None]) -> _Result:
    """Give what all users of the same table share: it is fitted once.

    Parameters
    ----------
    key : str
        Says all that the result follows from.
    make : callable
        Takes a `Step` and gives the result.
    show : callable
        Shows what is known before the fit.
    """
    kept, me = st.session_state, _session()
    job = _job(key, make, me)
    before = kept.get("job")
    if before is not job:
        kept.update(job=job, stopped=False)
        if before is not None:
            before.leave(me)
    if not kept["stopped"]:
        job.waiting.add(me)
        if isinstance(job.error, Stopped):
            job.begin()
        job.thread.join(PATIENCE)
    if job.thread.is_alive() or isinstance(job.error, Stopped):
        _progress(job)
        show()
        raise Waiting
    if job.error is not None:
        if not isinstance(job.error, UnmetError):  # the next one may go well
            _job.clear(key, make, me)
        raise job.error if isinstance(job.error, Exception) else RuntimeError(str(job.error))
    return cast("_Result", job.found)


@st.fragment(run_every=0.5)
def _progress(job: Job) -> None:
    """Show how far a fit is, and how to stop it."""
    stopped = st.session_state["stopped"]
    if not stopped and not job.thread.is_alive():
        st.rerun()
    done, total, doing = job.step
    told = "Stopped" if stopped else f"{capital(doing)} … {time.monotonic() - job.begun:.0f} s"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.progress(done / total, told)
        if st.button("Compute" if stopped else "Stop", key="stop"):
            st.session_state["stopped"] = not stopped
            if not stopped:
                job.leave(_session())
            st.rerun()


def answer(about: str, draw: Callable[[], None]) -> None:
    """Show an answer, and keep it until the next one is there.

    Parameters
    ----------
    about : str
        What it is of: the name of a file.
    draw : callable
        Shows it.
    """
    draw()
    st.session_state["answer"] = about, draw


def show_earlier() -> None:
    """Show the answer before, if there is one, as what it is."""
    if "answer" not in st.session_state:
        return
    about, draw = st.session_state["answer"]
    st.markdown(f"**Previous result, for {plain(about)}**")
    with st.container(key="earlier"):
        draw()


def without_parameters(text: str) -> str:
    """Take parameters of the library out of a sentence: the page has other names for them.

    Examples
    --------
    >>> without_parameters("Set the rate (sellout_rate=), such as .2.")
    'Set the rate, such as .2.'
    """
    name = r"[a-z_]+=[^()]*|[a-z]+(_[a-z]+)+|[A-Z][a-z]+[A-Z.]\w+"
    return re.sub(rf"(, or (?:plan anyway|keep it))? \(({name})\)", "", text)


def listed(sentences: Iterable[str]) -> None:
    """Show sentences as a list, each of them once."""
    kept = dict.fromkeys(map(without_parameters, sentences))
    if kept:
        st.markdown("\n".join(f"- {plain(each)}" for each in kept))


def chart(drawn: Chart, *words: str) -> None:
    """Show a chart, and in words what it shows."""
    st.vega_lite_chart(drawn.on(dark=st.context.theme.type == "dark"), theme=None)
    if words:
        st.caption(plain(" ".join(words)))


def key_figures(shown: Iterable[Sequence[str]], key: str = "answer") -> None:
    """Show the numbers that stand at the top: name, value and what it means."""
    kept = list(shown)
    with st.container(key=f"figures-{key}"):
        for place, (name, value, *meaning) in zip(st.columns(len(kept)), kept, strict=True):
            with place, st.container(border=True, height="stretch"):
                st.metric(capital(name), value)
                st.caption(plain(" ".join(filter(None, meaning))) or "&nbsp;")


def show_table(table: Any, key: str, columns: dict[str, Any], height: int = 420) -> None:
    """Show the first rows of a table, no higher than these need."""
    part = table.head(MAX_ROWS)
    tall = min(38 + 35 * part.height, height)
    how = {"column_config": columns, "height": tall, "placeholder": NONE}
    st.dataframe(part, hide_index=True, key=key, **how)
    if part.height < table.height:
        st.caption(f"First {part.height:,} of {table.height:,} rows; the file has all.")


def take_away(
    orders: Callable[[], bytes], report: Callable[[], str], command: str, name: str = "orders.csv"
) -> None:
    """Offer the orders and the report as files, and show the command that makes the same."""
    st.subheader("Download", anchor=False)
    mime = "text/csv" if name.endswith(".csv") else "application/octet-stream"
    with st.container(horizontal=True):
        offer(f"Download {name}", orders, name, mime, type="primary")
        offer("Download report.html", report, "report.html", "text/html")
    st.caption("Command for the same result:")
    st.code(command, language="bash", wrap_lines=True)


def offer(
    label: str, make: Callable[[], str | bytes], name: str, mime: str = "text/csv", **look: Any
) -> None:
    """Offer a file that is made when somebody asks for it."""
    st.download_button(label, make, file_name=name, mime=mime, on_click="ignore", key=name, **look)
