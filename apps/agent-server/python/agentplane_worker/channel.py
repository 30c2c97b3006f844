"""The socket to the server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from .frames import Frame, FrameReader, encode

#: More than this unsent, and whoever makes output should wait.
_HIGH_WATER_BYTES = 4 * 2**20

#: Output that follows other output sooner waits this long for more: each write costs both processes as much as several
#: events do, and one in the server for each reader.
_GATHER_S = 0.002
#: More output than this does not wait for more.
_GATHER_BYTES = 64 * 1024


class Channel(asyncio.Protocol):
    """Frames both ways, in their order. What is sent in one turn of the loop leaves in one write, and so does output that
    comes faster than its readers could tell.
    """

    def __init__(self, on_frame: Callable[[Frame], None], on_closed: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_closed = on_closed
        self._reader = FrameReader()
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        #: The next write, with whether it is at the end of this turn.
        self._next: tuple[asyncio.Handle, bool] | None = None
        self._wrote_at = 0.0
        self._room = asyncio.Event()
        self._room.set()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None

    @staticmethod
    async def open(fd: int, on_frame: Callable[[Frame], None], on_closed: Callable[[], None]) -> Channel:
        """The channel over a socket that this process was started with."""
        loop = asyncio.get_running_loop()
        given = socket.socket(fileno=fd)
        given.setblocking(False)
        _, channel = await loop.create_connection(lambda: Channel(on_frame, on_closed), sock=given)
        return channel

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=_HIGH_WATER_BYTES)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for frame in self._reader.read(data):
            self._on_frame(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_closed()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def send(self, kind: str, id: int = 0, head: bytes = b"{}", body: bytes = b"") -> None:
        """To be called in the thread of the loop. Raises HeadTooLong."""
        self._hold(encode(kind, id, head, body))
        if self._next is None or not self._next[1]:
            self._write_at_end_of_turn()

    def send_output(self, kind: str, id: int, head: bytes, body: bytes) -> None:
        """The same for one of many, which may wait for those that follow at once."""
        self._hold(encode(kind, id, head, body))
        if self._next is not None and (self._next[1] or self._waiting_bytes < _GATHER_BYTES):
            return
        left = self._wrote_at + _GATHER_S - self._loop.time()
        if left > 0 and self._waiting_bytes < _GATHER_BYTES:
            self._next = (self._loop.call_later(left, self.flush), False)
        else:
            self._write_at_end_of_turn()

    def _hold(self, frame: bytes) -> None:
        self._waiting.append(frame)
        self._waiting_bytes += len(frame)

    def _write_at_end_of_turn(self) -> None:
        if self._next is not None:
            self._next[0].cancel()
        self._next = (self._loop.call_soon(self.flush), True)

    def flush(self) -> None:
        """Sends what waits now, not at the end of this turn."""
        if self._next is not None:
            self._next[0].cancel()
            self._next = None
        if not self._waiting or self._transport is None:
            return
        waiting = self._waiting
        self._waiting = []
        self._waiting_bytes = 0
        self._wrote_at = self._loop.time()
        self._transport.write(b"".join(waiting))

    def has_room(self) -> bool:
        return self._room.is_set()

    async def room(self) -> None:
        """Returns once there is room for more."""
        await self._room.wait()
