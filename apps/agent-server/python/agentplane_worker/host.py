"""Loads the graphs of one agent and runs them, as its server asks by frames."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .channel import Channel
from .execution import Outcome, RunExecution, Stop, Worker
from .frames import Frame
from .graphs import GraphRefused, GraphRegistry, GraphSource
from .logs import log, open_log, run_fields
from .questions import Public, Questions
from .server import Server, ServerUnavailable, StoreRefused
from .store import ServerStore
from .watch import stack_of
from .wire import SecretWords, dumps, error_on_wire, loads, utf16_length

_HEALTH_S = 0.25
#: Runs that were just given have begun by then, and show whether they compute.
_ECHO_S = 0.005
#: What waits in the tracing SDK is sent first.
_LEAVE_S = 4.5


class Host:
    """One process with an agent's graphs."""

    def __init__(self) -> None:
        self._runs: dict[int, RunExecution] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._worker: Worker | None = None
        self._questions: Questions | None = None
        self._lag_s = 0.0
        self.channel: Channel
        self.server: Server

    async def open(self, fd: int) -> None:
        self.channel = await Channel.open(fd, self._receive, lambda: os._exit(0))
        self.server = Server(self.channel)

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _receive(self, frame: Frame) -> None:
        """A frame that cannot be read harms nobody but whom it is about: an exception here would close the channel."""
        try:
            self._handle(frame)
        except Exception as error:
            log.error("a message of the server was refused", exc_info=error)
            if frame.kind == "ask":
                self.channel.send("trouble", frame.id, dumps({"trouble": _trouble_of(error)}))
            elif frame.kind == "perform":
                self._end_refused(frame.id, error)

    def _end_refused(self, number: int, error: Exception) -> None:
        shown = error_on_wire(error)
        body = dumps({"__error__": shown})
        end = {"status": "error", "threadStatus": "error", "error": shown}
        counts = {"bodyChars": utf16_length(body), "interruptsChars": 0, "values": "none"}
        self.channel.send("outcome", number, dumps({"outcome": {"kind": "ended", "end": end, **counts}}), body)

    def _handle(self, frame: Frame) -> None:
        kind, number = frame.kind, frame.id
        if kind in ("fetched", "denied"):
            return self.server.receive(frame)
        head = loads(frame.head) if frame.head else {}
        run = self._runs.get(number)
        match kind:
            case "load":
                self._begin(self._load(head))
            case "perform":
                self._begin(self._perform(number, loads(frame.body), head))
            case "ask":
                self._begin(self._answer(number, head["question"], loads(frame.body)))
            case "stop" if run:
                reason = Stop(head["reason"], head.get("action", ""), head.get("limitMs", 0), "the server stopped the run")
                run.stop(reason)
            case "wanted" if run:
                run.wanted = head
            case "hold" if run:
                run.hold(head["isHeld"])
            case "echo":
                self.server.loop.call_later(_ECHO_S, lambda: self.channel.send("echo"))
            case "leave":
                self._begin(self._leave())

    async def _load(self, order: dict[str, Any]) -> None:
        secrets = SecretWords(order["secrets"])
        open_log(order["logLevel"], secrets)
        folder = Path(order["folder"])
        # before the packages, as the agent's own
        sys.path[:0] = dict.fromkeys([*order["importFolders"], str(folder)])
        graphs = GraphRegistry(folder)
        sources = [GraphSource(one["graphId"], one["file"], one["exportName"]) for one in order["graphs"]]
        try:
            for source in sources:
                loading = asyncio.create_task(graphs.load(source))
                while not loading.done():
                    self._report_load(source)
                    await asyncio.wait([loading], timeout=_HEALTH_S)
                await loading
        except GraphRefused as error:
            return self.channel.send("refused", 0, dumps({"message": str(error)}))
        except BaseException as error:
            message = f"the graphs do not load: {type(error).__name__}: {error}"
            return self.channel.send("refused", 0, dumps({"message": message}))
        server = self.server
        # the server reads three texts of that size at once
        server.max_body_bytes = 2 * order["maxTextBytes"]
        self._worker = Worker(
            server, self.channel, graphs, ServerStore(server), secrets, order["maxTextBytes"]
        )
        self._questions = Questions(self._worker)
        self.channel.send("sources", 0, dumps({"files": _own_files(folder)}))
        self.channel.send("loaded", 0, dumps({"packages": []}))
        self._begin(self._report_health())

    def _report_load(self, source: GraphSource) -> None:
        waits: list[str] = []
        for thread in threading.enumerate():
            if thread.name.startswith("asyncio_") and thread.ident is not None:
                waits = stack_of(thread.ident)[:1]
        head = {"graphId": source.graph_id, "file": source.place, "waitsFor": waits}
        self.channel.send("loading", 0, dumps(head))
        self.channel.flush()

    async def _report_health(self) -> None:
        while True:
            due = time.monotonic() + _HEALTH_S
            await asyncio.sleep(_HEALTH_S)
            lag_ms = max(0.0, (time.monotonic() - due) * 1000)
            self.channel.send("health", 0, dumps({"lagMs": lag_ms, "heapShare": _memory_share()}))

    async def _perform(self, number: int, run: dict[str, Any], wanted: dict[str, Any]) -> None:
        if self._worker is None:
            raise RuntimeError("a run came before the graphs were loaded")
        run_fields.set({"run_id": run["runId"], "thread_id": run["threadId"]})
        execution = RunExecution(number, run, wanted, self._worker)
        self._runs[number] = execution
        try:
            outcome = await execution.perform()
        except BaseException as error:
            # whatever goes wrong here, the server hears of it: another attempt goes on
            log.error("a run could not be ended", exc_info=error)
            outcome = Outcome({"kind": "lost", "message": error_on_wire(error)["message"]})
        del self._runs[number]
        self.channel.send("outcome", number, dumps({"outcome": outcome.head}), outcome.body)

    async def _answer(self, number: int, kind: str, question: dict[str, Any]) -> None:
        try:
            if self._questions is None or self._worker is None:
                raise Public("unavailable", "The graphs are not loaded yet; retry")
            text = await self._questions.answer(kind, question)
            if len(text) > self._worker.max_text_bytes:
                limit = self._worker.max_text_bytes
                raise Public("too_large", f"The answer about the {kind} has {len(text)} bytes; the limit is {limit}")
            self.channel.send("answer", number, body=text)
        except BaseException as error:
            self.channel.send("trouble", number, dumps({"trouble": _trouble_of(error)}))

    async def _leave(self) -> None:
        try:
            from langchain_core.tracers.langchain import wait_for_all_tracers

            await asyncio.wait_for(asyncio.to_thread(wait_for_all_tracers), _LEAVE_S)
        except Exception as error:
            log.warning("traces were not sent to their end: %s", type(error).__name__)
        os._exit(0)


def _trouble_of(error: BaseException) -> dict[str, str]:
    if isinstance(error, Public):
        return {"kind": "public", "code": error.code, "message": str(error)}
    if isinstance(error, StoreRefused):
        return {"kind": "database", "trouble": "refused", "message": str(error)}
    if isinstance(error, ServerUnavailable):
        return {"kind": "database", "trouble": "unavailable", "message": str(error)}
    log.error("a question failed", exc_info=error)
    message = f"{type(error).__name__}: {error}"
    return {"kind": "failed", "message": message, "stack": message}


def _own_files(folder: Path) -> list[str]:
    """The agent's files that are loaded; a change of one of them makes another agent."""
    files = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    own = (file for file in files if file.startswith(f"{folder}/"))
    return sorted(file for file in own if "/site-packages/" not in file)


def _memory_share() -> float:
    """Used part of the machine's memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(1.0, used / total)
