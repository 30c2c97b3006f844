"""What the worker asks of its server: states of threads and items of the store, which the server alone reads and writes."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import orjson

from .channel import Channel
from .frames import Frame, HeadTooLong
from .wire import loads


class Fenced(Exception):
    """Another attempt has the run: nothing that this one writes is kept."""


class StoreRefused(Exception):
    """The database cannot hold what was to be written, or searched for."""


class ServerUnavailable(Exception):
    """The server cannot reach its database; another attempt may go on."""


_TROUBLES: dict[str, type[Exception]] = {
    "fenced": Fenced,
    "refused": StoreRefused,
    "unavailable": ServerUnavailable,
}


class Server:
    """Requests to the server and their answers."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        #: Of what is to be kept at once: the server ends a worker that sends more than it reads.
        self.max_body_bytes = 0
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self.loop = asyncio.get_running_loop()

    async def fetch(self, what: str, asked: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """Asks; answers with the head and the body of what was found.

        Raises Fenced, StoreRefused or ServerUnavailable.
        """
        if len(body) > self.max_body_bytes:
            raise StoreRefused(f"a state of {len(body)} bytes; the limit is {self.max_body_bytes} (AGENTPLANE_EVENT_MB)")
        number = next(self._numbers) & 0xFFFFFFFF
        answer: asyncio.Future[Frame] = self.loop.create_future()
        self._waiting[number] = answer
        try:
            try:
                self._channel.send("fetch", number, orjson.dumps({"what": what, **asked}), body)
            except HeadTooLong as error:
                raise StoreRefused(str(error)) from None
            frame = await answer
        finally:
            self._waiting.pop(number, None)
        return loads(frame.head), frame.body

    def receive(self, frame: Frame) -> None:
        """An answer."""
        waiting = self._waiting.get(frame.id)
        if waiting is None or waiting.done():
            return
        if frame.kind == "fetched":
            waiting.set_result(frame)
            return
        trouble = loads(frame.head)
        raised = _TROUBLES.get(trouble["trouble"], RuntimeError)
        waiting.set_exception(raised(trouble["message"]))

    def wait(self, request: Any) -> Any:
        """Performs a request from a thread of the graph, and waits for it there."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self.loop:
            request.close()
            raise RuntimeError(
                "a synchronous call would stop every run of this process; use the asynchronous one (ainvoke, aget, aput)"
            )
        return asyncio.run_coroutine_threadsafe(request, self.loop).result()
