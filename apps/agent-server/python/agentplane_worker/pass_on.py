"""What an app has no route for goes to its server, with the app's middleware around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from .app_protocol import PASS, PASS_HEADER, Receive, Scope, Send, goes_on
from .loopback import OwnServer

_NOT_FOUND = b'{"detail":"Not found"}'


class _Body:
    """The body of a request as it comes; middleware may have changed it."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._is_read = asyncio.Event()

    async def left(self) -> None:
        """Returns once the client is gone, which shows after the body."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def skip(self) -> None:
        """There is none that matters."""
        self._is_read.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client left")
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body", False):
                self._is_read.set()
                return


class PassOn:
    """An app that asks the server. The server knows a request by its number, once; one that the app made up has none."""

    def __init__(self, server: OwnServer) -> None:
        self._server = server
        self._transport: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope.get(PASS) is None:
            return await _refuse(scope, send)
        body = _Body(receive)
        tasks = [asyncio.create_task(self._answer(scope, body, send)), asyncio.create_task(body.left())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                tasks[0].result()
        finally:
            for task in tasks:
                task.cancel()

    async def _answer(self, scope: Scope, body: _Body, send: Send) -> None:
        import httpx

        self._transport = self._transport or httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None))
        own = urlsplit(await self._server.url())
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        target = own.path.rstrip("/").encode() + scope["raw_path"] + query
        connection = dict(scope["headers"]).get(b"connection", b"")
        headers = [
            (name, value)
            for name, value in scope["headers"]
            if goes_on(name, connection) and name != b"content-length"
        ]
        has_body = scope["method"] not in ("GET", "HEAD")
        if not has_body:
            body.skip()
        asked = httpx.Request(
            scope["method"],
            f"{own.scheme}://{own.netloc}/",
            headers=[*headers, (PASS_HEADER, scope[PASS])],
            content=body.pieces() if has_body else None,
            # as the client wrote it: nobody reads it in another way than the app did
            extensions={"target": target, "timeout": {"connect": 5.0, "read": None, "write": None, "pool": None}},
        )
        answer = await self._transport.handle_async_request(asked)
        try:
            connection = answer.headers.get("connection", "").encode()
            # middleware that writes another body keeps the headers of the first
            kept = [
                (name.lower(), value)
                for name, value in answer.headers.raw
                if goes_on(name.lower(), connection) and name.lower() != b"content-length"
            ]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
            async for piece in answer.stream:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await answer.aclose()


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1000})
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 404, "headers": headers})
    await send({"type": "http.response.body", "body": _NOT_FOUND})
