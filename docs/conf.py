"""Settings of the documentation; ``make docs`` builds it into docs/_build/html."""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from types import FunctionType

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the package `paper`

project = "unmet"
author = "the unmet developers"
copyright = author
release = version = installed_version("unmet")

extensions = [
    "myst_nb",  # reads what myst_parser reads, and executes the pages of the gallery
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}  # autosummary writes the first

nb_execution_timeout = 600  # seconds for a cell
nb_execution_raise_on_error = True
nb_execution_mode = "cache"  # a page runs again when its cells change; `make clean` forgets
nb_merge_streams = True

default_role = "py:obj"  # names in single backticks are code, and links where they are known
highlight_language = "none"  # formulas in docstrings are not code; examples say pycon

html_theme = "furo"
html_title = "unmet"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["gallery.css"]

myst_heading_anchors = 3

# Pages of the API are made from templates into reference/generated, which git ignores.
templates_path = ["_templates"]
autosummary_generate = True
autosummary_imported_members = True
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80
autodoc_typehints = "none"  # the docstrings say types in words
autodoc_mock_imports = ["skpro"]  # whose classes ours derive from; it is no part of the extra docs
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


# Imports of Sphinx stand inside the functions: the tests import this file, too, without Sphinx.

COMMANDS = "<!-- commands -->"
"""Mark in reference/command-line.md that the synopses of all commands replace."""


def command_reference():
    """Write the synopsis, the options and the examples of every command, from the commands."""
    import typer

    from unmet.cli.main import app

    return "\n\n".join(map(_of_command, typer.main.get_command(app).commands.values()))


def _of_command(command):
    options = [each for each in command.params if each.opts[0].startswith("-")]
    places = [each for each in command.params if each not in options]
    words = [each.name.upper() for each in places]
    words = [
        word if each.required else f"[{word}]" for word, each in zip(words, places, strict=True)
    ]
    words += [f"{each.opts[0]} {each.name.upper()}" for each in options if each.required]
    lines = [
        f"## `unmet {command.name}`",
        f"    unmet {' '.join([command.name, *words])} [OPTIONS]",
    ]
    lines += [re.sub(r"\n[ ]*", "\n", command.help)]
    rows = ["| option | meaning | default |", "|---|---|---|"]
    for word, each in zip(words, places, strict=False):
        rows.append(f"| `{word}` | {each.help} |  |")
    for each in options:
        names = ", ".join(f"`{name}`" for name in (*each.opts, *each.secondary_opts))
        shown = each.default not in (None, "") and not isinstance(each.default, bool)
        default = f"`{each.default}`" if shown else ""
        rows.append(f"| {names} | {each.help} | {default} |")
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("unmet ")]
    return "\n\n".join([*lines, "\n".join(rows), "\n".join(["```sh", *examples, "```"])])


def fill_commands(_, page, source):
    """Put the commands in place of the mark."""
    if page == "reference/command-line":
        source[0] = source[0].replace(COMMANDS, command_reference())


def quote_fitted_names(*arguments):
    """Quote names like n_features_in_ in types: reStructuredText reads them as links."""
    lines = arguments[-1]
    for number, line in enumerate(lines):
        parameter, colon, kind = line.partition(" : ")
        if colon:
            lines[number] = parameter + colon + re.sub(r"(?<!`)\b(\w+_)(?=[,)])", r"``\1``", kind)


def drop_last_blank_line(_, doctree):
    """Drop the blank line that doctest wants before the end of an example."""
    from docutils import nodes

    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip()
        block.children = [nodes.Text(block.rawsource)]


# Public methods that packages of unmet call on each other and users need not know, by class.
# The entry "" holds for every class.
INTERNAL = {
    "": "band_rows check_state diagnosis_for fit_rows get_params parameters set_params to_state",
    "AgeReplacement": "in_time in_time_area in_time_totals late",
    "Claim": "name word",
    "DecisionLog": "check coming followed of_orders update",
    "DecisionPlan": "began column date encode encoder estimator flag from_distribution "
    "latent level model_name problem reach rows rule sellout_rate "
    "series text_columns words",
    "DemandForecast": "for_others others stocks_that_last training",
    "Experiment": "costs",
    "JumpCost": "in_time in_time_area in_time_totals late",
    "MissingPackage": "for_extra or_load",
    "OrderPlan": "costs_are_money in_words learned_from lot_ read risk_in_words "
    "until_next with_flags",
    "PaperSettings": "as_dict is_papers_store",
    "PreventiveReplacement": "in_time in_time_area in_time_totals late",
    "Results": "datasets excess first_quartiles gap_improvement levels mean_savings "
    "means optimum_cost sales_range savings service_gap share_closed "
    "shares_closed",
    "Rows": "evaluated kinks mean_cost of read settled",
    "Schema": "refuse_taken with_known_future with_sold_out",
    "StockState": "check",
    "StoreEvidence": "is_the_papers smallest_rmse",
    "SupplyRules": "columns given lasting late leads longest replace rows take varies whole",
    "TableEncoder": "sources",
    "Tiers": "checked",
}


def is_documented(name, member):
    """Whether a public method or property of a class has its place on the page of the class."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType) or name.startswith("_"):
        return False
    ours = function.__module__.partition(".")[0] in ("unmet", "paper")
    internal = INTERNAL[""] + " " + INTERNAL.get(function.__qualname__.partition(".")[0], "")
    return ours and name not in internal.split()


def skip_member(_, what, name, member, *__):
    """Leave methods out that scikit-learn gives to every estimator, and internal ones."""
    return True if what in ("class", "exception") and not is_documented(name, member) else None


def setup(app):
    from sphinx.ext import autosummary

    autosummary.WELL_KNOWN_ABBREVIATIONS += ("eq.", "Fig.")  # or a summary ends at "(eq."
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", fill_commands)
    app.connect("doctree-read", drop_last_blank_line)
    app.connect("autodoc-process-docstring", quote_fitted_names, priority=100)  # before numpydoc
