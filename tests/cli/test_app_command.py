"""`unmet app` on the command line: who is served, and one sentence when it cannot be."""

import importlib.util
import socket

import pytest
import typer
from typer.testing import CliRunner

from unmet.cli import commands as command
from unmet.errors import InvalidInput, MissingPackage


def invoke(*words):
    """Run the command alone, whatever else `unmet` can do."""
    line = typer.Typer(add_completion=False)
    line.command()(command.app)
    return CliRunner().invoke(line, words)


@pytest.fixture
def served(monkeypatch):
    """Ports that would have been served."""
    ports = []
    monkeypatch.setattr(command, "_serve", lambda port, browser: ports.append(port))
    return ports


def test_only_this_computer_is_served_and_nobody_is_told():
    found = command._options(8501)
    assert found["server.address"] == "localhost"
    assert found["browser.gatherUsageStats"] == "false"
    assert found["server.maxUploadSize"] == "50"
    assert found["client.showErrorDetails"] == "none"
    assert found["server.enableXsrfProtection"] == "true"
    assert found["server.enableCORS"] == "true"


def test_the_page_ends_as_stopped_and_says_where_it_is(served):
    found = invoke("--port", "0", "--no-browser")
    assert found.exit_code != 0
    assert found.stdout.startswith(f"The what-if page is at http://localhost:{served[0]} ")


def test_a_port_in_use(served):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        found = invoke("--port", str(port), "--no-browser")
    assert isinstance(found.exception, InvalidInput)
    assert str(found.exception).startswith(f"--port must be a free port, got {port} (")
    assert not served


def test_a_missing_package(served, monkeypatch):
    package = "streamlit"
    monkeypatch.setattr(
        command,
        "find_spec",
        lambda name: None if name == package else importlib.util.find_spec(name),
    )
    found = invoke("--no-browser")
    assert isinstance(found.exception, MissingPackage)
    assert str(found.exception).startswith(
        f"the what-if page needs {package}: install it with pip install '{package}>="
    )
    assert not served
