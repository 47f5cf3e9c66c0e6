"""The server of the viewer: loopback only, read-only, for one page."""

from __future__ import annotations

import json
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.view.answers import Answers
from tisim.analysis.view.guard import Guard
from tisim.analysis.viz.modules import shared_files
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

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
# Bytes of a request's head that are read; uvicorn refuses longer ones.
_LONGEST_HEAD = 16_384
# Answers that are made at once.
_CONNECTIONS = 32


def serve(
    runs: Sequence[RunFile],
    *,
    port: int = 0,
    ready: Callable[[str], None] = print,
    framed: bool = False,
) -> None:
    """Show a run in a browser, or two beside each other, until Ctrl-C.

    Parameters
    ----------
    runs
        The runs.
    port
        Of 127.0.0.1; a free one when 0.
    ready
        Is called with the address, once the server listens.
    framed
        Whether notebooks on this machine may show the page in a frame.

    Raises
    ------
    InputError
        When the port is taken, two runs cannot be aligned, or Starlette or uvicorn are not
        installed.
    """
    with listen(port) as listener:
        guard = Guard(listener.getsockname()[1], framed=framed)
        server = make_server(Answers(runs), guard, ready)
        server.run(sockets=[listener])


def make_server(answers: Answers, guard: Guard, ready: Callable[[str], None]) -> Server:
    """A server that has not been started.

    Raises
    ------
    InputError
        When uvicorn is not installed.
    """
    try:
        import uvicorn
    except ImportError:
        raise InputError("the viewer needs uvicorn: pip install 'tisim[view]'") from None
    config = uvicorn.Config(
        application(answers, guard),
        log_level="error",
        access_log=False,
        lifespan="off",
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        http="h11",
        ws="none",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    start_up = server.startup

    async def start_up_and_say(sockets: list[socket.socket] | None = None) -> None:
        """The address is given out when Ctrl-C ends the server in order, not before."""
        await start_up(sockets)
        ready(guard.address)

    server.startup = start_up_and_say
    return server


def listen(port: int) -> socket.socket:
    """A socket on the loopback interface.

    Raises
    ------
    InputError
        When the port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_CONNECTIONS)
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} cannot be used ({error.strerror}); choose another, or none for a free one"
        ) from None
    return listener


def application(answers: Answers, guard: Guard) -> Application:
    """The application (ASGI): the guard, and behind it the page and its answers."""
    guarded = _routes(answers, guard)

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
        name = request.path_params.get("name", "page.html")
        if name not in page:
            return Response("there is no such file\n", 404, headers, "text/plain")
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
            return Response("there is no such question\n", 404, headers, "text/plain")
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
    """The files of the page, by name; no others are ever sent.

    The modules that it shares with the report are among them, and the common theme is part of its
    style.
    """
    folder = resources.files("tisim.analysis.view") / "page"
    shared = {name: text.encode() for name, text in shared_files().items()}
    own = {
        item.name: item.read_bytes()
        for item in folder.iterdir()
        if item.name[item.name.rfind(".") :] in _TYPES
    }
    return {**shared, **own, "style.css": shared["theme.css"] + own["style.css"]}
