"""HTTP/1.1 over a local socket for one caller, the agent's server: one request a connection, answers in chunks.

The server has judged the request before: what is read here is what Node writes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from .logs import log

#: Callers are headers too.
_MAX_HEAD_BYTES = 2 * 2**20
_PIECE_BYTES = 64 * 1024

_NO_BODY_STATUSES = (204, 205, 304)

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: What would end the header, or the head.
_NOT_OF_VALUES = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

#: The client has its answer, and stops sending what nobody has read.
_LINGER_S = 30.0


class Head(NamedTuple):
    """The beginning of a request; names of headers are in lower case."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]

    def get(self, name: bytes) -> bytes | None:
        """The value of a header that is there once."""
        return next((value for one, value in self.headers if one == name), None)


class ClientLeft(OSError):
    """Nobody is left to be answered."""


class Exchange:
    """One request and its answer."""

    def __init__(self, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = head
        self._reader = reader
        self._writer = writer
        self._is_chunked = b"chunked" in (head.get(b"transfer-encoding") or b"")
        self._left = int(head.get(b"content-length") or 0)
        #: Bytes of the chunk whose length was read; None before that.
        self._chunk_left: int | None = None
        self._is_read = not self._is_chunked and self._left == 0
        self._leaving: asyncio.Task[None] | None = None
        self.has_begun = False
        self.has_ended = False
        self._has_body = head.method != "HEAD"

    async def read(self) -> bytes:
        """The next piece of the body, empty at its end. Raises ClientLeft."""
        if self._is_read:
            return b""
        try:
            piece = await (self._chunk() if self._is_chunked else self._reader.read(min(self._left, _PIECE_BYTES)))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise ClientLeft("the client left") from error
        if not self._is_chunked:
            if not piece:
                raise ClientLeft("the client left")
            self._left -= len(piece)
            self._is_read = self._left == 0
        return piece

    async def _chunk(self) -> bytes:
        # an app may end its wait at each await and read on later: each of them takes all or nothing
        if self._chunk_left is None:
            self._chunk_left = int((await self._reader.readline()).split(b";", 1)[0] or b"0", 16)
        if self._chunk_left == 0:
            await self._reader.readuntil(b"\r\n")
            self._is_read = True
            return b""
        piece = await self._reader.readexactly(self._chunk_left + 2)
        self._chunk_left = None
        return piece[:-2]

    async def left(self) -> None:
        """Returns once the client is gone; what it still sends is of no use. More than one may wait for it."""
        self._leaving = self._leaving or asyncio.create_task(_discard(self._reader))
        await asyncio.shield(self._leaving)

    def begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Sends the head of the answer; headers about its length and its connection are this server's own."""
        for name, value in headers:
            if not _NAME.fullmatch(name) or _NOT_OF_VALUES.search(value):
                raise ValueError(f"the HTTP app answered a header {name[:80]!r} with a name or a value that cannot be sent")
        if not 200 <= status <= 599:
            raise ValueError(f"the HTTP app answered the status {status}")
        self.has_begun = True
        self._has_body = self._has_body and status not in _NO_BODY_STATUSES
        lines = [b"HTTP/1.1 %d answer\r\n" % status]
        lines += [b"%s: %s\r\n" % header for header in headers]
        lines.append(b"connection: close\r\n")
        if self._has_body:
            lines.append(b"transfer-encoding: chunked\r\n")
        self._writer.write(b"".join([*lines, b"\r\n"]))

    async def write(self, piece: bytes) -> None:
        """Sends a piece of the body, as fast as the client reads. Raises ClientLeft."""
        if self._writer.is_closing():
            raise ClientLeft("the client left")
        if piece and self._has_body:
            self._writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        try:
            await self._writer.drain()
        except ConnectionError as error:
            raise ClientLeft("the client left") from error

    def end(self) -> None:
        """The answer is complete."""
        self.has_ended = True
        if self._has_body and not self._writer.is_closing():
            self._writer.write(b"0\r\n\r\n")

    def break_off(self) -> None:
        """What was sent is not the whole answer."""
        self._writer.transport.abort()


Answer = Callable[[Exchange], Awaitable[None]]


async def _discard(reader: asyncio.StreamReader) -> None:
    try:
        while await reader.read(_PIECE_BYTES):
            pass
    except ConnectionError:
        pass


async def _read_head(reader: asyncio.StreamReader) -> Head:
    lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    method, target, _ = lines[0].split(b" ", 2)
    headers = [line.partition(b":") for line in lines[1:] if line]
    return Head(method.decode(), target, [(name.lower(), value.strip()) for name, _, value in headers])


async def serve(path: str, answer: Answer) -> Any:
    """Answers whoever connects at a path of this machine."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            exchange = Exchange(await _read_head(reader), reader, writer)
            await answer(exchange)
            # closed at once, with something unread, the connection would break under the answer
            if not writer.is_closing():
                writer.write_eof()
                await asyncio.wait_for(exchange.left(), _LINGER_S)
        except (asyncio.IncompleteReadError, asyncio.TimeoutError, OSError):
            pass  # it left
        except Exception as error:
            log.error("a request could not be answered", exc_info=error)
            writer.transport.abort()
        finally:
            writer.close()

    return await asyncio.start_unix_server(connected, path, limit=_MAX_HEAD_BYTES, backlog=1_024)
