"""The server of the page; `streamlit run` finds `app` here.

It answers only to names of this computer and to configured names. It releases the resources of a
page thirty seconds after the page was closed.
"""

from __future__ import annotations

import asyncio
import re
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from streamlit import config, runtime

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_HOST = re.compile(r"(?:\[(.+)\]|([^:]*?)\.?)(?::\d+)?")


def is_known(host: str) -> bool:
    """Whether a host, with or without a port, is one that is served."""
    found = _HOST.fullmatch(host.lower())
    name = "" if found is None else found[1] or found[2]
    known = (each.lower().rstrip(".") for each in config.get_option("server.allowedHosts"))
    return any(fnmatchcase(name, each) for each in known)


class Gate:
    """Refuse requests to other hosts and from other origins: any name may mean this computer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        asked = [headers.get("host", ""), *([] if origin is None else [origin.split("//")[-1]])]
        if not all(map(is_known, asked)):
            refusal = PlainTextResponse("This host name is not allowed.", 403)
            return await refusal(scope, receive, send)
        await self._app(scope, receive, send)
        if scope["type"] == "websocket":
            wait = 1 + config.get_option("server.disconnectedSessionTTL")
            asyncio.get_running_loop().call_later(wait, _let_go)
        return None


def _let_go() -> None:
    """End sessions of pages that do not come back; streamlit itself waits for the next page."""
    kept: Any = runtime.get_instance()
    for _, each in kept._session_mgr._session_storage._cache.expire():
        each.session.shutdown()


@asynccontextmanager
async def _open_browser(_: Any) -> AsyncIterator[None]:
    if not config.get_option("server.headless"):
        address = f"http://{config.get_option('server.address')}:{config.get_option('server.port')}"
        asyncio.get_running_loop().run_in_executor(None, webbrowser.open, address)
    yield


app = st.App(
    Path(__file__).with_name("page.py"), middleware=[Middleware(Gate)], lifespan=_open_browser
)
