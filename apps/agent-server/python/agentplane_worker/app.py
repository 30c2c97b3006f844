"""The HTTP app of an agent (`http.app`): an ASGI app such as FastAPI's and Starlette's, in a process of its own."""

from __future__ import annotations

import secrets as random
from hmac import compare_digest
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from .app_protocol import WORD_HEADER, App, AppRefused, Conversation, Lifespan, Receive, Scope, Send, scope_of
from .http_server import ClientLeft, Exchange, serve
from .logs import log
from .modules import Export, ModuleRefused, load_export
from .pass_on import PassOn
from .process import Process, Public
from .wire import SecretWords, dumps

_FAILED = b'{"detail":"The agent\'s HTTP app failed; its log has the reason"}'

#: Where FastAPI's own routes come from, with which it describes itself: the server has such routes for all that it serves.
_DESCRIPTION_MODULE = "fastapi.applications"

_EVERYTHING = [{"path": "", "isWhole": False}]


def _router_of(app: Any) -> Any:
    """The router of an app as Starlette has it; None for any other app."""
    router = getattr(app, "router", None)
    return router if isinstance(getattr(router, "routes", None), list) and hasattr(router, "default") else None


def _pattern_of(path: str) -> dict[str, Any]:
    """`/books` of `/books/{id}`, as the server asks before it sends a request."""
    literal = path.split("{", 1)[0]
    whole = literal if literal.startswith("/") else f"/{literal}"
    return {"path": whole.rstrip("/"), "isWhole": literal == path}


def paths_of(app: Any) -> list[dict[str, Any]] | None:
    """What may reach an app; None for what the server has no route for."""
    router = _router_of(app)
    if router is None:
        return None
    if getattr(app, "user_middleware", None):
        return _EVERYTHING
    found: list[dict[str, Any]] = []
    for route in router.routes:
        path = getattr(route, "path", None)
        if isinstance(route, _ToServer):
            continue
        if not isinstance(path, str):
            return _EVERYTHING  # by host, or a kind that is not known here
        is_mount = hasattr(route, "routes") and not hasattr(route, "endpoint")
        found.append({**_pattern_of(path), **({"isWhole": False} if is_mount else {})})
    return found


class _ToServer:
    """A route that takes what others match by their path but not by their method: the server may have it."""

    def __init__(self, routes: list[Any], pass_on: App) -> None:
        self._routes = routes
        self._pass_on = pass_on

    def matches(self, scope: Scope) -> tuple[Any, Scope]:
        from starlette.routing import Match

        if scope["type"] != "http":
            return Match.NONE, {}
        others = (route.matches(scope)[0] for route in self._routes if route is not self)
        return (Match.FULL if Match.PARTIAL in others else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._pass_on(scope, receive, send)


def lead_to_server(app: Any, pass_on: App) -> None:
    """Has a router leave to the server what it has no route for, also what it would describe about itself alone."""
    router = _router_of(app)
    if router is None:
        return
    made_by = lambda route: getattr(getattr(route, "endpoint", None), "__module__", "")  # noqa: E731
    router.routes[:] = [one for one in router.routes if made_by(one) != _DESCRIPTION_MODULE]
    router.default = pass_on
    router.routes.append(_ToServer(router.routes, pass_on))


class AppProcess(Process):
    """One process with the HTTP app of an agent."""

    def __init__(self) -> None:
        super().__init__()
        self._app: App | None = None
        self._lifespan: Lifespan | None = None
        self._socket = ""
        #: Who asks shows it: others of this user can find the socket.
        self._word = random.token_urlsafe(32)

    async def load(self, order: dict[str, Any], folder: Path, secrets: SecretWords) -> None:
        asked = order["module"]
        self.loads(asked["setting"], asked["file"])
        export = Export(f'"{asked["setting"]}" of langgraph.json', asked["file"], asked["exportName"])
        app = await load_export(export, folder)
        place = f"{export.what}: {export.name} of {export.place.removeprefix(f'{folder}/')}"
        if not callable(app) or isinstance(app, type):
            raise ModuleRefused(f"{place} is no ASGI app; export one such as FastAPI()")
        self._lifespan = Lifespan(app)
        try:
            await self._lifespan.start()
        except AppRefused as error:
            raise ModuleRefused(f"{place} does not start: {secrets.hide(str(error)).strip()[-1_000:]}") from error
        # routes may have been added when it started
        lead_to_server(app, PassOn(self.own_server))
        self._app = app
        # of this user alone; the server takes it away once it has hold of the socket
        self._socket = f"{mkdtemp(prefix='agentplane-app-')}/socket"
        await serve(self._socket, self._serve)

    async def answer(self, kind: str, question: dict[str, Any]) -> bytes:
        if kind != "paths":
            return await super().answer(kind, question)
        if self._app is None:
            raise Public("unavailable", "The HTTP app is not loaded yet; retry")
        return dumps({"paths": paths_of(self._app), "socket": self._socket, "word": self._word})

    async def leave(self) -> None:
        if self._lifespan:
            await self._lifespan.stop()

    async def _serve(self, exchange: Exchange) -> None:
        """Hands one request to the app, and its answer to the server. Whatever the app raises is an answer too."""
        assert self._app is not None and self._lifespan is not None
        if not compare_digest(exchange.head.get(WORD_HEADER) or b"", self._word.encode()):
            return exchange.break_off()
        conversation = Conversation(exchange)
        scope = scope_of(exchange, self._lifespan.state)
        try:
            await self._app(scope, conversation.receive, conversation.send)
            if not exchange.has_begun:
                raise RuntimeError("the HTTP app returned without an answer")
        except ClientLeft:
            return
        except Exception as error:
            if isinstance(error, OSError) and isinstance(error.__context__, ClientLeft):
                return
            path = scope["path"]
            log.error("HTTP app failed: %s %s", scope["method"], path[:200], exc_info=error)
        if exchange.has_ended:
            return
        if exchange.has_begun:
            return exchange.break_off()
        exchange.begin(500, [(b"content-type", b"application/json")])
        await exchange.write(_FAILED)
        exchange.end()
