"""The socket to the server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from .frames import Frame, FrameReader, encode

#: More than this unsent, and whoever makes output should wait.
_HIGH_WATER_BYTES = 4 * 2**20


class Channel(asyncio.Protocol):
    """Frames both ways. What is sent in one turn of the loop leaves in one write."""

    def __init__(self, on_frame: Callable[[Frame], None], on_closed: Callable[[], None]) -> None:
        self._on_frame = on_frame
        self._on_closed = on_closed
        self._reader = FrameReader()
        self._waiting: list[bytes] = []
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
        frame = encode(kind, id, head, body)
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(frame)

    def flush(self) -> None:
        """Sends what waits now, not at the end of this turn."""
        if not self._waiting or self._transport is None:
            return
        waiting = self._waiting
        self._waiting = []
        self._transport.write(b"".join(waiting))

    def has_room(self) -> bool:
        return self._room.is_set()

    async def room(self) -> None:
        """Returns once there is room for more."""
        await self._room.wait()
