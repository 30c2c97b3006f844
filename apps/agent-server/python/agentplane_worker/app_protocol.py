"""An ASGI app: its lifespan, and one request with its answer."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from .callers import path_of
from .http_server import ClientLeft, Exchange
from .user import User
from .wire import loads

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: As `src/app-front/control.ts` names them.
PASS_HEADER = b"x-agentplane-pass"
WORD_HEADER = b"x-agentplane-word"
_CALLER_HEADER = b"x-agentplane-caller"
_LENGTH_HEADER = b"x-agentplane-length"
_HOST_HEADER = b"x-agentplane-host"
_OWN = b"x-agentplane-"

#: Where the number of a request stands in its scope.
PASS = "agentplane.pass"

_ASGI = {"version": "3.0", "spec_version": "2.4"}

#: They belong to one connection, not to what is sent over it (RFC 9110, 7.6.1).
_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection")
    + (b"te", b"trailer", b"transfer-encoding", b"upgrade", b"http2-settings")
)

#: What an app has to end in is the time that its server gives it.
_SHUTDOWN_S = 4.5


def goes_on(name: bytes, connection: bytes = b"") -> bool:
    """Whether a header may go on to the next connection, and is none of the server's own."""
    if name in _HOP_BY_HOP or name.startswith(_OWN):
        return False
    return name not in [one.strip() for one in connection.lower().split(b",")]


class AppRefused(Exception):
    """The app does not start; the message says why."""


class Lifespan:
    """What an app does before its first request and after its last."""

    def __init__(self, app: App) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ended: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises AppRefused when the app says that it cannot start."""
        self._ended = asyncio.create_task(self._perform())
        self._events.put_nowait({"type": "lifespan.startup"})
        await asyncio.wait([self._started, self._ended], return_when=asyncio.FIRST_COMPLETED)
        if self._started.done():
            self._started.result()

    async def stop(self) -> None:
        """Has it end what it began."""
        if self._ended is None or self._ended.done():
            return
        self._events.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([self._ended], timeout=_SHUTDOWN_S)

    async def _perform(self) -> None:
        scope: Scope = {"type": "lifespan", "asgi": _ASGI, "state": self.state}
        try:
            await self._app(scope, self._events.get, self._send)
        except Exception:
            # an app without a lifespan refuses the scope, as the standard has it
            if not self._started.done():
                self._started.set_result(None)

    async def _send(self, message: Message) -> None:
        if self._started.done():
            return
        if message["type"] == "lifespan.startup.failed":
            self._started.set_exception(AppRefused(message.get("message") or "its lifespan failed"))
        elif message["type"] == "lifespan.startup.complete":
            self._started.set_result(None)


def _user_of(given: bytes | None) -> User | None:
    if given is None:
        return None
    return User(loads(base64.urlsafe_b64decode(given + b"=" * (-len(given) % 4))))


def scope_of(exchange: Exchange, state: dict[str, Any]) -> Scope:
    """A request as the app gets it: its client's, with the client's host and path."""
    head = exchange.head
    # no address that is sent has a fragment; routers differ in whether it belongs to the path
    raw, _, query = head.target.partition(b"#")[0].partition(b"?")
    base = urlsplit((head.get(_HOST_HEADER) or b"http://localhost").decode("latin-1"))
    connection = head.get(b"connection") or b""
    headers = [header for header in head.headers if goes_on(header[0], connection) and header[0] != b"host"]
    scope: Scope = {
        "type": "http",
        "asgi": _ASGI,
        "http_version": "1.1",
        "method": head.method,
        "scheme": base.scheme,
        **path_of(raw),
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", base.netloc.encode()), *headers],
        "client": ("127.0.0.1", 0),
        "server": (base.hostname or "localhost", base.port or 80),
        "state": state.copy(),
        PASS: head.get(PASS_HEADER),
    }
    user = _user_of(head.get(_CALLER_HEADER))
    if user is not None:
        scope["user"] = user
        try:
            from starlette.authentication import AuthCredentials

            scope["auth"] = AuthCredentials(user.get("permissions") or [])
        except ImportError:
            pass  # an app of another kind
    return scope


class Conversation:
    """What an app is called with for one request, and what it answers."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._is_read = False
        self._has_left = False
        self._start: Message | None = None

    async def receive(self) -> Message:
        """The next piece of the body; after it, that the client has left."""
        if self._has_left:
            return {"type": "http.disconnect"}
        try:
            if not self._is_read:
                body = await self._exchange.read()
                self._is_read = body == b""
                return {"type": "http.request", "body": body, "more_body": not self._is_read}
            await self._exchange.left()
        except ClientLeft:
            pass
        self._has_left = True
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """A part of the answer. Raises OSError once the client has left."""
        exchange = self._exchange
        match message["type"]:
            case "http.response.start":
                self._start = message
            case "http.response.body" if not exchange.has_ended:
                self._begin()
                await exchange.write(bytes(message.get("body", b"")))
                if not message.get("more_body", False):
                    exchange.end()

    def _begin(self) -> None:
        if self._exchange.has_begun:
            return
        if self._start is None:
            raise RuntimeError("the HTTP app sent a body before the head of its answer")
        headers = [(bytes(name).lower(), bytes(value)) for name, value in self._start.get("headers", [])]
        connection = next((value for name, value in headers if name == b"connection"), b"")
        sent = [
            (_LENGTH_HEADER if name == b"content-length" else name, value)
            for name, value in headers
            if goes_on(name, connection)
        ]
        self._exchange.begin(int(self._start["status"]), sent)
