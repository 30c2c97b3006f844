"""Loads the graphs of one agent and runs them, as its server asks by frames."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from .embedder import load_embedder
from .execution import Outcome, RunExecution, Stop, Worker
from .frames import Frame
from .graphs import GraphRegistry, GraphSource
from .logs import log, run_fields
from .priority import Assign, assigned, load_assign
from .process import Process, Public
from .questions import Questions
from .server import Server, ServerUnavailable, StoreRefused
from .store import ServerStore
from .wire import SecretWords, dumps, error_on_wire, loads, short, utf16_length

#: What waits in the tracing SDK is sent first.
_LEAVE_S = 4.5


#: What the server reads at once, in texts of the greatest length.
_TEXTS_OF_FRAME = 3


def _bounded(text: bytes, kind: str, limit: int) -> bytes:
    if len(text) > limit:
        raise Public("too_large", f"The answer about the {kind} has {len(text)} bytes; the limit is {limit}")
    return text


class Host(Process):
    """One process with an agent's graphs."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[int, RunExecution] = {}
        self._worker: Worker | None = None
        self._questions: Questions | None = None
        self._embedder: Any = None
        self._assign: Assign | None = None
        self.server: Server

    async def open(self, fd: int) -> None:
        await super().open(fd)
        self.server = Server(self.channel)

    def refuse(self, frame: Frame, error: Exception) -> None:
        if frame.kind == "perform":
            self._end_refused(frame.id, error)
        else:
            super().refuse(frame, error)

    def _end_refused(self, number: int, error: Exception) -> None:
        shown = {name: short(text) for name, text in error_on_wire(error).items()}
        body = dumps({"__error__": shown})
        end = {"status": "error", "threadStatus": "error", "error": shown}
        counts = {"bodyChars": utf16_length(body), "interruptsChars": 0, "values": "none"}
        self.channel.send("outcome", number, dumps({"outcome": {"kind": "ended", "end": end, **counts}}), body)

    def handle(self, frame: Frame) -> None:
        kind, number = frame.kind, frame.id
        if kind in ("fetched", "denied"):
            return self.server.receive(frame)
        run = self._runs.get(number)
        head = loads(frame.head) if frame.head and (run or kind == "perform") else {}
        match kind:
            case "perform":
                self._runs[number] = execution = self._execution(number, loads(frame.body), head)
                self.begin(self._perform(number, execution))
            case "stop" if run:
                why = head.get("why") or "the server stopped the run"
                reason = Stop(head["reason"], head.get("action", ""), head.get("limitMs", 0), why)
                run.stop(reason)
            case "wanted" if run:
                run.wanted = head
            case "hold" if run:
                run.hold(head["isHeld"])
            case _:
                super().handle(frame)

    async def load(self, order: dict[str, Any], folder: Path, secrets: SecretWords) -> None:
        graphs = GraphRegistry(folder)
        for one in order["graphs"]:
            self.loads(one["graphId"], one["file"])
            await graphs.load(GraphSource(one["graphId"], one["file"], one["exportName"]))
        index = order["store"].get("index")
        if index:
            self.loads("store.index", index["embed"])
            self._embedder = await load_embedder(index, folder)
        source = order.get("priority")
        if source:
            self.loads("priority.path", source["file"])
            self._assign = await load_assign(source["file"], source["exportName"], folder)
        server = self.server
        # the server reads three texts of that size at once
        server.max_body_bytes = 2 * order["maxTextBytes"]
        self._worker = Worker(
            server, self.channel, graphs, ServerStore(server), secrets, order["maxTextBytes"]
        )
        self._questions = Questions(self._worker)

    def _execution(self, number: int, run: dict[str, Any], wanted: dict[str, Any]) -> RunExecution:
        """Made before its task begins: the frame that stops it may have arrived together with it."""
        if self._worker is None:
            raise RuntimeError("a run came before the graphs were loaded")
        return RunExecution(number, run, wanted, self._worker)

    async def _perform(self, number: int, execution: RunExecution) -> None:
        run_fields.set({"run_id": execution.run["runId"], "thread_id": execution.run["threadId"]})
        try:
            outcome = await execution.perform()
        except BaseException as error:
            # whatever goes wrong here, the server hears of it: another attempt goes on
            log.error("a run could not be ended", exc_info=error)
            outcome = Outcome({"kind": "lost", "message": short(error_on_wire(error)["message"])})
        del self._runs[number]
        self.channel.send("outcome", number, dumps({"outcome": outcome.head}), outcome.body)

    async def answer(self, kind: str, question: dict[str, Any]) -> bytes:
        if self._questions is None or self._worker is None:
            raise Public("unavailable", "The graphs are not loaded yet; retry")
        if kind == "embed":
            # the vectors of many texts are longer than one text of a graph may be, but one frame holds them
            text = await self._embed(question["texts"], question["isQuery"])
            return _bounded(text, kind, _TEXTS_OF_FRAME * self._worker.max_text_bytes)
        if kind == "priority" and self._assign:
            return _bounded(await assigned(self._assign, question), kind, self._worker.max_text_bytes)
        return _bounded(await self._questions.answer(kind, question), kind, self._worker.max_text_bytes)

    async def _embed(self, texts: list[str], is_query: bool) -> bytes:
        embedder = self._embedder
        return dumps(await (embedder.aembed_query(texts[0]) if is_query else embedder.aembed_documents(texts)))

    def trouble_of(self, error: BaseException) -> dict[str, str]:
        if isinstance(error, StoreRefused):
            return {"kind": "database", "trouble": "refused", "message": str(error)}
        if isinstance(error, ServerUnavailable):
            return {"kind": "database", "trouble": "unavailable", "message": str(error)}
        return super().trouble_of(error)

    async def leave(self) -> None:
        from langchain_core.tracers.langchain import wait_for_all_tracers

        await asyncio.wait_for(asyncio.to_thread(wait_for_all_tracers), _LEAVE_S)
