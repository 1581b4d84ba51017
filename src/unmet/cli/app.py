"""``unmet app``: the what-if page on this computer."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from unmet.errors import InvalidInput, MissingPackage

EXAMPLES = ("unmet app", "unmet app --port 8600 --no-browser")

_ADDRESS = "localhost"


def app(
    port: Annotated[int, typer.Option(help="Port of this computer; 0 takes a free one.")] = 8501,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
) -> None:
    """Open the what-if page: plan orders from a file, move costs, and see what changes.

    The page is served to this computer only; files that are uploaded stay on it. Ctrl-C ends it.
    """
    if find_spec("streamlit") is None:
        raise MissingPackage.for_extra("the what-if page", "streamlit", "app")
    used = _free(port)
    address = f"http://{_ADDRESS}:{used}"
    typer.echo(f"The what-if page is at {address} (Ctrl-C ends it).")
    _serve(used, browser)
    raise typer.Abort  # the page ends when somebody stops it, never by itself


def _free(port: int) -> int:
    """Refuse a port that another program listens on; 0 becomes one that is free."""
    from unmet.validation import WholeNumber

    WholeNumber(0, 65535)("port", port)
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError as error:
            raise InvalidInput(
                f"port must be one that is free, got {port} ({error.strerror}): try --port 0."
            ) from None
        return int(attempt.getsockname()[1])


def _options(port: int, browser: bool = False) -> dict[str, str]:
    """Options of streamlit: this computer only, nothing reported to anybody, no tracebacks."""
    from unmet.app.upload import MAX_MEGABYTES

    return {
        "server.address": _ADDRESS,
        "server.port": str(port),
        "server.headless": "false" if browser else "true",
        "server.showEmailPrompt": "false",
        "server.fileWatcherType": "none",
        "server.enableXsrfProtection": "true",
        "server.enableCORS": "true",  # other origins are refused
        "server.maxUploadSize": str(MAX_MEGABYTES),
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
        "theme.light.primaryColor": "#0072B2",  # of Okabe and Ito, as in the figures
        "theme.dark.primaryColor": "#56B4E9",
        "client.showErrorDetails": "none",
        "logger.hideWelcomeMessage": "true",
    }


def _serve(port: int, browser: bool = False) -> None:
    """Run the page until it is stopped."""
    from streamlit.web import cli

    import unmet.app

    page = Path(str(unmet.app.__file__)).with_name("page.py")
    flags = [f"--{name}={value}" for name, value in _options(port, browser).items()]
    cli.main(["run", str(page), *flags], standalone_mode=False)
