"""Experiments: train methods on observations and evaluate them on truths, over seeds and levels.

The paper is one experiment (the package ``paper``). Your own cost, model, data set or level makes
another. A method is any function that returns a scikit-learn estimator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from unmet.arrays import Array
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.evaluation.comparison import WilcoxonCell, text_table, wilcoxon_cell
from unmet.evaluation.measures import cost_saving, realised_cost, rmse_to_optimum, service_level
from unmet.files import (
    append_row,
    open_run,
    read_arrays,
    read_rows,
    write_arrays,
    write_csv,
    write_text,
)
from unmet.progress import Step, silent
from unmet.validation import WholeNumber

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class DataSet:
    """Training rows, and test rows whose truth is known.

    Attributes
    ----------
    features : table or array-like of shape (n_rows, n_features)
        Features of the training rows.
    observation : array-like of shape (n_rows,)
        Observations of the training rows, such as sales.
    test_features : table or array-like of shape (n_test_rows, n_features)
        Features of the test rows.
    test_truth : array-like of shape (n_test_rows,)
        Truth of the test rows, such as demand.
    optimum : callable, optional
        Function from a level to the best decisions for the test rows, if a simulation knows them.
    known : mapping of str to anything
        Further information for single methods, such as flags or the truth of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.evaluation import DataSet
    >>> X, demand = np.arange(6.0).reshape(6, 1), np.array([3.0, 5, 4, 6, 7, 9])
    >>> data = DataSet(X[:4], np.minimum(demand[:4], 5), X[4:], demand[4:])
    >>> data.observation
    array([3., 5., 4., 5.])
    """

    features: Any
    observation: Any
    test_features: Any
    test_truth: Any
    optimum: Callable[[float], Array] | None = None
    known: Mapping[str, Any] = field(default_factory=dict)


class Task(NamedTuple):
    """Information for one method: one data set at one level.

    Attributes
    ----------
    seed : int
        Seed of the data set.
    level : float
        Level α.
    cost : cost
        Cost at this level.
    data : DataSet
        The data set.
    tuned : anything
        Result of `tuning` for this seed and level; None without tuning.

    Examples
    --------
    A method is a function of a task:

    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.evaluation.experiment import Task
    >>> method = lambda task: LinearDecision(task.cost)
    >>> task = Task(seed=0, level=0.75, cost=Newsvendor.at_level(0.75), data=None, tuned=None)
    >>> method(task)
    LinearDecision(cost=Newsvendor(underage=0.75, overage=0.25))
    """

    seed: int
    level: float
    cost: Any
    data: DataSet
    tuned: Any


Method = Callable[[Task], Any]


@dataclass(frozen=True, eq=False)
class Experiment:
    """Comparison of methods over data sets and levels.

    `Experiment.run` trains every method on every data set at every level, and evaluates its
    decisions.

    Parameters
    ----------
    data : callable
        Function from a seed to a `DataSet`.
    methods : mapping of str to callable
        Functions from a `Task` to an unfitted estimator with ``fit(X, y)`` and ``predict(X)``, such
        as ``lambda task: LinearDecision(task.cost)``.
    costs : callable, default=Newsvendor.at_level
        Function from a level to the cost at that level: anything with ``cost(decision, truth)``.
    levels : sequence of float
        Levels α to run. The default is the paper's five.
    seeds : sequence of int
        Seeds of the data sets, one data set each. The default is 0 to 9. More seeds give smaller
        standard errors.
    tuning : callable, optional
        Function of seed, level and data set, called before the methods. Its result reaches the
        methods as ``task.tuned``. None tunes nothing.
    measures : mapping of str to callable
        Further columns, or replacements of columns of the same name: functions of a `Task`, the
        fitted estimator and its decisions that return a number.
    lower : float or None
        Decisions below it are raised to it before they are evaluated. None raises none.
    same_at_all_levels : collection of str
        Methods that do not depend on the level: one fit per data set serves all levels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import QuantileRegressor
    >>> from unmet import LinearDecision
    >>> from unmet.evaluation import DataSet, Experiment
    >>> def data(seed):
    ...     X = np.random.default_rng(seed).normal(size=(200, 2))
    ...     demand = 50 + 5 * X[:, 0] + np.random.default_rng([seed, 1]).normal(0, 9, 200)
    ...     return DataSet(X[:100], np.minimum(demand[:100], 52), X[100:], demand[100:])
    >>> methods = {
    ...     "ours": lambda task: LinearDecision(task.cost),
    ...     "sklearn": lambda task: QuantileRegressor(quantile=task.level, alpha=0),
    ... }
    >>> results = Experiment(data, methods, levels=(0.6, 0.8), seeds=range(3)).run()
    >>> print(results)
    cost             0.6          0.8
    -------  -----------  -----------
    ours     3.59 (0.23)  3.32 (0.01)
    sklearn  3.59 (0.23)  3.32 (0.01)
    """

    data: Callable[[int], DataSet]
    methods: Mapping[str, Method]
    costs: Callable[[float], Any] = Newsvendor.at_level
    levels: Sequence[float] = (0.55, 0.65, 0.75, 0.85, 0.95)
    seeds: Sequence[int] = range(10)
    tuning: Callable[[int, float, DataSet], Any] | None = None
    measures: Mapping[str, Callable[[Task, Any, Array], float]] = field(default_factory=dict)
    lower: float | None = None
    same_at_all_levels: Sequence[str] = ()

    def run(
        self, folder: str | Path | None = None, *, jobs: int = 1, progress: Step = silent
    ) -> ExperimentResults:
        """Run all steps that are not done yet, and return the results.

        Parameters
        ----------
        folder : path, optional
            Folder that keeps a row and the decisions of each fit as soon as they exist, so you can
            resume a stopped run. None keeps everything in memory.
        jobs : int
            Number of processes; results do not depend on it.
        progress : callable
            Called with the number of finished steps, of all steps, and a word.

        Returns
        -------
        ExperimentResults
            Measures and decisions of each seed, method and level.
        """
        from joblib import Parallel, delayed

        WholeNumber(1)("jobs", jobs)
        if not (self.methods and len(self.levels) and len(self.seeds)):
            raise InvalidInput("methods, levels and seeds must not be empty.")
        settings = {
            "methods": list(self.methods),
            "levels": list(self.levels),
            "seeds": list(self.seeds),
        }
        path = None if folder is None else Path(folder)
        opened: Any = nullcontext()
        if path is not None:
            opened = open_run(path, settings, parameter="output")
        with opened:
            store = _Store(path)
            pairs = [(seed, level) for seed in self.seeds for level in self.levels]
            done = {(row["seed"], row["method"], row["level"]) for row in store.rows}
            fits = [
                (seed, name, some)
                for seed in self.seeds
                for name in self.methods
                for some in self._together(name)
                if not all((seed, name, level) in done for level in some)
            ]
            total = len(fits) + (len(pairs) if self.tuning else 0)
            workers = Parallel(n_jobs=jobs, return_as="generator")
            tuned: dict[tuple[int, float], Any] = {}
            if self.tuning:
                searches = (delayed(self._tune)(*pair) for pair in pairs)
                for place, (pair, found) in enumerate(
                    zip(pairs, workers(searches), strict=True), start=1
                ):
                    tuned[pair] = found
                    progress(place, total, "searches")
            calls = (
                delayed(self._fit)(seed, name, some, [tuned.get((seed, a)) for a in some])
                for seed, name, some in fits
            )
            for place, kept in enumerate(workers(calls), start=total - len(fits) + 1):
                for row, decision in kept:
                    if (row["seed"], row["method"], row["level"]) not in done:
                        store.add(row, decision)
                progress(place, total, "fits")
        order = {name: place for place, name in enumerate(self.methods)}
        rows = sorted(store.rows, key=lambda row: (row["seed"], order[row["method"]], row["level"]))
        return ExperimentResults(
            tuple(rows),
            store.decision,
            self._optimum,
            tuned,
            lambda seed, level, decision: self.costs(level).cost(
                decision, self.data(seed).test_truth
            ),
        )

    def _together(self, name: str) -> list[tuple[float, ...]]:
        """Levels that one fit serves."""
        if name in self.same_at_all_levels:
            return [tuple(self.levels)]
        return [(level,) for level in self.levels]

    def _optimum(self, seed: int, level: float) -> Array | None:
        best = self.data(seed).optimum
        return None if best is None else best(level)

    def _tune(self, seed: int, level: float) -> Any:
        assert self.tuning is not None
        return self.tuning(seed, level, self.data(seed))

    def _fit(
        self, seed: int, name: str, levels: Sequence[float], tuned: Sequence[Any]
    ) -> list[tuple[Row, Array]]:
        """Fit one method once, and evaluate its decisions at these levels."""
        data = self.data(seed)
        first = Task(seed, levels[0], self.costs(levels[0]), data, tuned[0])
        model = self.methods[name](first)
        begun = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rows are compared, not remarks
            model.fit(data.features, data.observation)
        seconds = process_time() - begun
        iterations = getattr(model, "n_iter_", None)
        predicted = np.asarray(model.predict(data.test_features), dtype=np.float64)
        decision = predicted if self.lower is None else np.maximum(predicted, self.lower)
        kept = []
        for level, found in zip(levels, tuned, strict=True):
            task = Task(seed, level, self.costs(level), data, found)
            row: Row = {
                "seed": seed,
                "level": level,
                "method": name,
                "cost": realised_cost(task.cost, decision, data.test_truth),
                "service_level": service_level(decision, data.test_truth),
                "cpu_seconds": seconds,
                "iterations": None if iterations is None else int(np.max(iterations)),
            }
            if data.optimum is not None:
                best = data.optimum(level)
                row["cost_optimum"] = realised_cost(task.cost, best, data.test_truth)
                row["rmse_to_optimum"] = rmse_to_optimum(decision, best)
            for measure, of in self.measures.items():
                row[measure] = of(task, model, decision)
            kept.append((row, decision))
        return kept


class _Store:
    """Rows and decisions, in memory or in a folder: a row is appended after its decisions."""

    def __init__(self, folder: Path | None) -> None:
        self._folder, self._decisions = folder, dict[tuple[Any, ...], Array]()
        self.rows: list[Row] = []
        if folder is not None:
            self.rows = read_rows(folder / "rows.jsonl", lambda row: {"seed", "cost"} <= set(row))

    def add(self, row: Row, decision: Array) -> None:
        key = row["seed"], row["method"], row["level"]
        if self._folder is None:
            self._decisions[key] = decision
        else:
            write_arrays(self._path(*key), decision=decision)
            append_row(self._folder / "rows.jsonl", row)
        self.rows.append(row)

    def decision(self, seed: int, method: str, level: float) -> Array:
        if self._folder is None:
            return self._decisions[seed, method, level]
        path = self._path(seed, method, level)
        kept: Array = read_arrays(path, "begin again in another folder")["decision"]
        return kept

    def _path(self, seed: int, method: str, level: float) -> Path:
        assert self._folder is not None
        slug = "".join(sign if sign.isalnum() else "-" for sign in method.replace("ε", "e"))
        return self._folder / "decisions" / str(seed) / f"{slug.lower()}-{level:g}.npz"


@dataclass(frozen=True, eq=False)
class ExperimentResults:
    """Results of an experiment; ``str()`` is a table of mean costs with standard deviations.

    Attributes
    ----------
    rows : tuple of dict
        One entry per seed, method and level: ``cost`` (mean over the test rows), ``service_level``
        (share of rows whose decision covers the truth), ``cpu_seconds`` of the fit, ``iterations``,
        your own measures, and ``cost_optimum`` and ``rmse_to_optimum`` if the optimum is known.
    decision : callable (seed, method, level) → ndarray
        Decisions for the test rows, as they were evaluated.
    optimum : callable (seed, level) → ndarray or None
        Best decisions for the test rows.
    tuned : mapping of (seed, level) to anything
        Results of `tuning`.
    row_costs : callable (seed, level, decision) → ndarray
        Cost of every test row.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision
    >>> from unmet.evaluation import DataSet, Experiment
    >>> def data(seed):
    ...     demand = np.random.default_rng(seed).normal(50, 9, 100)
    ...     return DataSet(np.zeros((50, 1)), demand[:50], np.zeros((50, 1)), demand[50:])
    >>> methods = {"linear": lambda task: LinearDecision(task.cost)}
    >>> results = Experiment(data, methods, levels=(0.8,), seeds=range(2)).run()
    >>> results.methods, len(results.values("linear", 0.8))
    (['linear'], 2)
    """

    rows: tuple[Row, ...]
    decision: Callable[[int, str, float], Array]
    optimum: Callable[[int, float], Array | None]
    tuned: Mapping[tuple[int, float], Any]
    row_costs: Callable[[int, float, Array], Array]

    @cached_property
    def _by_key(self) -> dict[tuple[str, float], list[Row]]:
        by_key: dict[tuple[str, float], list[Row]] = {}
        for row in sorted(self.rows, key=lambda row: row["seed"]):
            by_key.setdefault((row["method"], row["level"]), []).append(row)
        return by_key

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in their order."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def levels(self) -> list[float]:
        """Levels, ascending."""
        return sorted({row["level"] for row in self.rows})

    @property
    def seeds(self) -> list[int]:
        """Seeds, ascending."""
        return sorted({row["seed"] for row in self.rows})

    def values(self, method: str, level: float, measure: str = "cost") -> list[Any]:
        """Give one measure of a method at a level, one number per seed.

        Parameters
        ----------
        method : str
            Name of the method.
        level : float
            Level of the experiment.
        measure : str, default="cost"
            Name of the column.
        """
        try:
            return [row[measure] for row in self._by_key[method, level]]
        except KeyError:
            raise InvalidInput(
                f"method, level and measure must be among the results, got {method!r}, {level!r} "
                f"and {measure!r}."
            ) from None

    def mean(self, method: str, level: float, measure: str = "cost") -> float:
        """Average a measure over the seeds.

        Parameters
        ----------
        method, level, measure
            As in `values`.
        """
        return fmean(self.values(method, level, measure))

    def std(self, method: str, level: float, measure: str = "cost") -> float:
        """Compute the standard deviation over the seeds (n − 1); 0 for a single seed.

        Parameters
        ----------
        method, level, measure
            As in `values`.
        """
        values = self.values(method, level, measure)
        return stdev(values) if len(values) > 1 else 0.0

    def savings(
        self, method: str, baseline: str, level: float, measure: str = "cost"
    ) -> list[float]:
        """Compute the share of the baseline's cost that a method saves, per seed (Fig. percentage).

        Parameters
        ----------
        method, baseline : str
            Names of the two methods.
        level, measure
            As in `values`.
        """
        both = (self.values(name, level, measure) for name in (method, baseline))
        return [cost_saving(*pair) for pair in zip(*both, strict=True)]

    def test(self, method: str, baseline: str, level: float, seed: int) -> WilcoxonCell:
        """Run a paired Wilcoxon signed rank test over the test rows of one data set.

        As in the paper, the differences are ``|ŷ − Q*|`` of the baseline minus that of the method.
        If the optimum Q* is unknown, they are differences of row costs. The test is one-sided: a
        small p-value means that the method is better.

        Parameters
        ----------
        method, baseline : str
            Names of the two methods.
        level : float
            Level of the experiment.
        seed : int
            Seed of the data set.
        """
        own, other = (self.decision(seed, name, level) for name in (method, baseline))
        best = self.optimum(seed, level)
        if best is None:
            own, other = (self.row_costs(seed, level, each) for each in (own, other))
            best = np.zeros_like(own)
        return wilcoxon_cell(own, other, best)

    def table(self, measure: str = "cost", digits: int = 2) -> tuple[list[str], list[list[str]]]:
        """Give heads and cells: a row per method, a column per level, "mean (standard deviation)".

        Parameters
        ----------
        measure : str, default="cost"
            Name of the column.
        digits : int, default=2
            Digits after the decimal point.
        """
        rows = [
            [
                name,
                *(
                    f"{self.mean(name, a, measure):.{digits}f} "
                    f"({self.std(name, a, measure):.{digits}f})"
                    for a in self.levels
                ),
            ]
            for name in self.methods
        ]
        return [measure.replace("_", " "), *(f"{level:g}" for level in self.levels)], rows

    def __str__(self) -> str:
        return text_table(*self.table())

    def to_csv(self, path: str | Path) -> Path:
        """Write all rows, with all digits.

        Parameters
        ----------
        path : str or Path
            File to write.
        """
        return write_csv(Path(path), self.rows)

    def to_latex(self, path: str | Path, measure: str = "cost", *, caption: str = "") -> Path:
        """Write `table` as a LaTeX table for booktabs.

        Parameters
        ----------
        path : str or Path
            File to write.
        measure : str, default="cost"
            Name of the column.
        caption : str, default=""
            Caption of the table.
        """
        heads, rows = self.table(measure)
        return write_text(Path(path), latex_table(heads, rows, caption=caption, label=measure))


# --- Tables for LaTeX.

_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"${sign}$" for sign in "<>|"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"–": "--", "—": "---", "…": r"\dots{}", "“": "``", "”": "''", "’": "'"},
    **{"§": r"\S{}", "ó": r"\'o", "ŷ": r"$\hat{y}$", "₁": "$_1$", "₂": "$_2$", "²": "$^2$"},
    **{"−": "$-$", "·": r"$\cdot$", "✓": r"$\surd$", "√": r"$\surd$", "✗": r"$\otimes$"},
    **{"α": r"$\alpha$", "β": r"$\beta$", "ε": r"$\varepsilon$", "η": r"$\eta$"},
    **{"σ": r"$\sigma$", "Φ": r"$\Phi$", "×": r"$\times$", "÷": r"$\div$", "±": r"$\pm$"},
    **{"≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "≈": r"$\approx$", "→": r"$\to$"},
    **{"½": r"$\frac12$"},
}


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX: its special characters, and characters that its fonts lack.

    Stars of significance at the end of a cell are raised.

    Examples
    --------
    >>> print(latex_text("LR-εNVC-R saves 5% of α_1"))
    LR-$\varepsilon$NVC-R saves 5\% of $\alpha$\_1
    >>> print(latex_text("1.27 (1.03, 1.59)***"))
    1.27 (1.03, 1.59)$^{***}$
    """
    body = text.rstrip("*") if text.rstrip("*").endswith(")") else text
    stars = rf"$^{{{text[len(body) :]}}}$" if body != text else ""
    # an empty line would end a paragraph, which captions and cells do not allow
    return "".join(_SIGNS.get(sign, sign) for sign in " ".join(body.split())) + stars


def latex_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    label: str = "",
    notes: Sequence[str] = (),
    left: int = 1,
) -> str:
    """Make a table for booktabs; the `left` first columns are left-aligned, the others right."""

    def line(cells: Sequence[str]) -> str:
        words = " & ".join(map(latex_text, cells))
        # after a line break LaTeX would take a bracket or a star for an option
        return ("{}" if words.lstrip().startswith(("[", "*")) else "") + words + r" \\"

    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}[!htbp]\centering\footnotesize",
            rf"\caption{{{latex_text(caption)}}}\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{@{{}}{'l' * left}{'r' * (len(heads) - left)}@{{}}}}",
            r"\toprule",
            line(heads) + r" \midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\smallskip\footnotesize {latex_text(note)}" for note in notes),
            r"\end{table}",
            "",
        ]
    )
