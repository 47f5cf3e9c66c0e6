"""The server of the viewer: loopback only, read-only, for one page.

Only the page served by this server may query it. The printed address contains a random token.
Requests need it as the first part of their path, the server's own address as their Host (so that no
name of another site leads here by DNS rebinding), and, if sent by the browser, its own Origin and
the same site.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.analysis.report.page import page_file, page_modules, page_style
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.answers import Answers
from tisim.errors import InputError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from uvicorn import Server

    Scope = MutableMapping[str, object]
    Message = MutableMapping[str, object]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Maximum length of an address: the page does not send longer ones.
_MAX_ADDRESS_LENGTH = 8192
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors "
)
# Notebooks on this machine, on any port.
_NOTEBOOKS = "http://127.0.0.1:* http://localhost:*"
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Refusal:
    """HTTP status and reason of a refused request."""

    status: int
    reason: str


class Guard:
    """Checks requests.

    `token`: first part of all paths, by default random. `framed`: whether notebooks on this machine
    may show the page in a frame.
    """

    def __init__(self, port: int, token: str | None = None, *, framed: bool = False) -> None:
        self._framed = framed
        self.token = secrets.token_urlsafe(24) if token is None else token
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self.address = f"http://127.0.0.1:{port}/{self.token}/"

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of every answer."""
        ancestors = _NOTEBOOKS if self._framed else "'none'"
        return {**_HEADERS, "Content-Security-Policy": _POLICY + ancestors}

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request is refused, or None if allowed. Header names are in lower case."""
        if headers.get("host", "") not in self._hosts:
            return Refusal(421, "use the address that tisim view printed")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return Refusal(403, "requests from other origins are refused")
        other_site = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if other_site and not self._is_frame(path, headers):
            return Refusal(403, "requests from other sites are refused")
        if method not in ("GET", "HEAD"):
            return Refusal(405, "this server is read-only")
        if len(path) > _MAX_ADDRESS_LENGTH:
            return Refusal(414, "the address is too long")
        token = path.removeprefix("/").partition("/")[0].partition("?")[0]
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return Refusal(404, "the address lacks the token that tisim view printed")
        return None

    def _is_frame(self, path: str, headers: Mapping[str, str]) -> bool:
        """Return True if a notebook requests the page itself, which requests everything else."""
        asked = headers.get("sec-fetch-dest") == "iframe"
        return self._framed and asked and path == f"/{self.token}/"


_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
# Maximum size in bytes of a request's head; uvicorn refuses longer ones.
_MAX_HEAD_SIZE = 16_384
# Maximum number of connections that the system queues until they are accepted.
_BACKLOG = 64
# Minimum size in bytes of compressed answers.
_MIN_COMPRESSED_SIZE = 1000


def serve(
    runs: Sequence[RunFile],
    *,
    port: int = 0,
    ready: Callable[[str], None] = print,
    framed: bool = False,
) -> None:
    """Show one run in a browser, or two side by side, until Ctrl-C.

    Parameters
    ----------
    runs
        The runs.
    port
        Port of 127.0.0.1; 0 selects a free one.
    ready
        Called with the address, once the server listens.
    framed
        Whether notebooks on this machine may show the page in a frame.

    Raises
    ------
    InputError
        If the port is taken, two runs cannot be aligned, or Starlette or uvicorn are not installed.
    """
    with listen(port) as listener:
        guard = Guard(listener.getsockname()[1], framed=framed)
        server = make_server(Answers(runs), guard, ready)
        server.run(sockets=[listener])


def make_server(answers: Answers, guard: Guard, ready: Callable[[str], None]) -> Server:
    """Return a server that has not been started."""
    import uvicorn

    from tisim.analysis.viewer.connections import BoundedProtocol

    config = uvicorn.Config(
        application(answers, guard),
        log_level="error",
        access_log=False,
        lifespan="off",
        server_header=False,
        h11_max_incomplete_event_size=_MAX_HEAD_SIZE,
        http=BoundedProtocol,
        ws="none",
        timeout_graceful_shutdown=2,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_relevant)
    server = uvicorn.Server(config)
    start_up = server.startup

    async def start_and_announce(sockets: list[socket.socket] | None = None) -> None:
        """Announce the address only once Ctrl-C stops the server in order."""
        await start_up(sockets)
        ready(guard.address)

    server.startup = start_and_announce
    return server


def _is_relevant(record: logging.LogRecord) -> bool:
    """Return False for pending answers cancelled by Ctrl-C."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and "running task" not in str(record.msg)


def listen(port: int) -> socket.socket:
    """Return a listening socket on the loopback interface."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} cannot be used ({error.strerror}); choose another, or omit it for any "
            "free port"
        ) from None
    return listener


def application(answers: Answers, guard: Guard) -> Application:
    """Return the ASGI application: the guard, followed by the page and its answers."""
    from starlette.middleware.gzip import GZipMiddleware

    # The lowest level costs little even if no slow connection (such as ssh) is involved.
    guarded = GZipMiddleware(_routes(answers, guard), _MIN_COMPRESSED_SIZE, compresslevel=1)

    async def guard_first(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = guard.refusal(str(scope["method"]), _path_of(scope), _headers_of(scope))
        if refusal is None:
            await guarded(scope, receive, send)
            return
        from starlette.responses import PlainTextResponse

        answer = PlainTextResponse(
            refusal.reason + "\n", status_code=refusal.status, headers=dict(guard.headers)
        )
        await answer(scope, receive, send)

    return guard_first


def _path_of(scope: Scope) -> str:
    raw, query = scope.get("raw_path"), scope.get("query_string")
    path = raw.decode("latin-1") if isinstance(raw, bytes) else str(scope["path"])
    return path + ("?" + query.decode("latin-1") if isinstance(query, bytes) and query else "")


def _headers_of(scope: Scope) -> Mapping[str, str]:
    headers = scope["headers"]
    assert isinstance(headers, list)
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}


def _routes(answers: Answers, guard: Guard) -> Starlette:
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import Response
    from starlette.routing import Route

    headers = dict(guard.headers)
    page = page_files()

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "viewer.html")
        if name not in page:
            return Response("no such file\n", 404, headers, "text/plain")
        suffix = name[name.rindex(".") :]
        return Response(page[name], headers=headers, media_type=_TYPES[suffix])

    async def ask(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            body = await run_in_threadpool(answers.answer, name, dict(request.query_params))
        except InputError as error:
            text = json.dumps({"error": error.message})
            return Response(text, 400, headers, "application/json")
        if body is None:
            return Response("no such question\n", 404, headers, "text/plain")
        kind = "application/octet-stream" if name == "tile" else "application/json"
        return Response(body, headers=headers, media_type=kind)

    return Starlette(
        routes=[
            Route(f"/{guard.token}/", file),
            Route(f"/{guard.token}/page/{{name}}", file),
            Route(f"/{guard.token}/ask/{{name}}", ask),
        ]
    )


def page_files() -> dict[str, bytes]:
    """Return the files of the page, by name; no others are ever sent."""
    files = {"viewer.html": page_file("viewer.html"), "viewer.css": page_style("viewer.css")}
    return {name: text.encode() for name, text in (files | page_modules("viewer.js")).items()}
