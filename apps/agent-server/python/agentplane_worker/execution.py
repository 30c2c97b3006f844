"""One attempt of a run at work in this process."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

from .channel import Channel
from .configuration import CHECKPOINTER_KEY, Run, call_options, recorded_metadata, run_config, shows_interrupts
from .graphs import GraphRegistry
from .inputs import graph_input
from .logs import log
from .modes import RunEvent, library_modes_of
from .output import StreamOutput
from .protocol_output import ProtocolOutput, transformers
from .refused_writes import settle_refused_writes
from .saver import ServerSaver
from .serializer import StateSerializer
from .server import Fenced, Server, ServerUnavailable, StoreRefused
from .states import interrupts_by_task, interrupts_of, is_at_breakpoint
from .tool_events import ToolEvents
from .wire import SecretWords, dumps, error_on_wire, short, utf16_length

#: How long a stopped graph may take to notice; then the run ends without it, and what it still writes is refused.
_STOP_GRACE_S = 5.0


class Stop(NamedTuple):
    """Why a run stops: `cancelled`, `timed-out`, `lost`, `handed-back`, `unstorable` or `too-large`."""

    kind: str
    #: Of a cancelled one.
    action: str = ""
    #: Of one that took too long.
    limit_ms: float = 0
    message: str = ""


class Outcome(NamedTuple):
    """The end of an attempt as its message: head, and large texts."""

    head: dict[str, Any]
    body: bytes = b""


class CheckpointNotFound(Exception):
    """The run is to begin from a checkpoint that its thread does not have."""


class Worker(NamedTuple):
    """What an execution needs of its process."""

    server: Server
    channel: Channel
    graphs: GraphRegistry
    store: BaseStore
    secrets: SecretWords
    max_text_bytes: int


class _Library(NamedTuple):
    graph: Any
    config: dict[str, Any]


class RunExecution:
    """Runs a graph to its end, to a stop, or to the end of the patience with a graph that does not stop."""

    def __init__(self, number: int, run: Run, wanted: dict[str, Any], worker: Worker) -> None:
        self.run = run
        self.wanted = wanted
        self._number = number
        self._worker = worker
        self._stop: Stop | None = None
        self._work: asyncio.Task[Outcome] | None = None
        self._abandoned: asyncio.Future[None] = worker.server.loop.create_future()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._output: StreamOutput | ProtocolOutput = (
            ProtocolOutput(run["graphId"], self._emit, worker.secrets)
            if run["kwargs"].get("protocol")
            else StreamOutput(run["kwargs"]["stream_mode"], self._emit, self._is_wanted, worker.secrets)
        )
        if run.get("cancel"):
            self._stop = Stop("cancelled", action=run["cancel"])

    def stop(self, reason: Stop) -> None:
        """Stops the graph; the first reason counts."""
        if self._stop:
            return
        self._stop = reason
        self.hold(False)
        if self._work:
            self._work.cancel(reason.message or reason.kind)  # which its trace shows
        self._worker.server.loop.call_later(
            _STOP_GRACE_S, lambda: self._abandoned.done() or self._abandoned.set_result(None)
        )

    def hold(self, is_held: bool) -> None:
        """The graph waits where it makes output, or goes on."""
        if is_held:
            self._flowing.clear()
        else:
            self._flowing.set()

    async def perform(self) -> Outcome:
        """Never raises."""
        self._work = asyncio.create_task(self._perform())
        await asyncio.wait([self._work, self._abandoned], return_when=asyncio.FIRST_COMPLETED)
        if self._work.done() and not self._work.cancelled():
            return self._work.result()
        return self._stopped(self._stop or Stop("lost", message="the run was cancelled in its process"))

    def _is_wanted(self) -> bool:
        return bool(self.wanted["isWanted"])

    def _emit(self, event: RunEvent) -> None:
        message = self._too_large(f'event "{event.event}"', event.data)
        if message:
            self.stop(Stop("too-large", message=message))
        elif not self._stop:
            self._worker.channel.send_output("event", self._number, dumps({"event": event.event}), event.data)

    def _too_large(self, what: str, text: bytes) -> str | None:
        limit = self._worker.max_text_bytes
        if len(text) <= limit:
            return None
        return f"{what} has {len(text)} bytes; the limit is {limit} (AGENTPLANE_EVENT_MB)"

    async def _perform(self) -> Outcome:
        run = self.run
        try:
            if self._stop:
                return self._stopped(self._stop)
            saver = self._saver()
            continues = await self._has_progress(saver)
            if not continues:
                await self._require_checkpoint(saver)
            config = run_config(run, saver, continues=continues)
            async with self._worker.graphs.open(run["graphId"], config) as graph:
                library = _Library(graph.copy({"store": self._worker.store}), config)
                try:
                    await self._stream(library, saver, continues)
                except Exception as error:
                    await self._settle(library.graph, saver, error)
                    raise
                if self._stop:
                    return self._stopped(self._stop)
                return await self._finished(library, saver)
        except asyncio.CancelledError:
            return self._stopped(self._stop or Stop("lost", message="the run was cancelled in its process"))
        except (Fenced, ServerUnavailable) as error:
            return self._stopped(self._stop or Stop("lost", message=str(error)))
        except StoreRefused as error:
            return self._stopped(self._stop or Stop("unstorable", message=str(error)))
        except BaseException as error:
            if self._stop:
                return self._stopped(self._stop)
            log.warning("run failed", exc_info=error)
            return self._failed(error_on_wire(error), "error")

    def _saver(self) -> BaseCheckpointSaver[Any]:
        run = self.run
        if run["isTemporary"]:
            return InMemorySaver(serde=StateSerializer())
        return ServerSaver(
            self._worker.server,
            run=self._number,
            thread_id=run["threadId"],
            metadata=recorded_metadata(run),
            empty_thread=bool(run.get("isThreadEmpty")),
        )

    async def _settle(self, graph: Any, saver: BaseCheckpointSaver[Any], error: Exception) -> None:
        """Leaves a thread whose state can be read."""
        if self._stop or isinstance(error, (Fenced, ServerUnavailable, StoreRefused)) or not isinstance(saver, ServerSaver):
            return
        try:
            await settle_refused_writes(graph.copy({"checkpointer": saver}), saver, self.run["threadId"], error)
        except Exception as failure:
            log.warning("state of a failed run unreadable", exc_info=failure)

    async def _has_progress(self, saver: BaseCheckpointSaver[Any]) -> bool:
        """Whether an earlier attempt of this run has left a checkpoint to continue from."""
        run = self.run
        if run["attempt"] == 1 or run["isTemporary"]:
            return False
        found = await saver.aget_tuple({"configurable": {"thread_id": run["threadId"], "checkpoint_ns": ""}})
        return found is not None and found.metadata.get("run_id") == run["runId"]

    async def _require_checkpoint(self, saver: BaseCheckpointSaver[Any]) -> None:
        place = self.run["kwargs"].get("checkpoint")
        if not place:
            return
        thread_id, checkpoint_id = self.run["threadId"], place.get("checkpoint_id")
        configurable = {
            "thread_id": thread_id,
            "checkpoint_ns": place.get("checkpoint_ns") or "",
            "checkpoint_id": checkpoint_id,
        }
        if await saver.aget_tuple({"configurable": configurable}) is None:
            raise CheckpointNotFound(f"Thread {thread_id} has no checkpoint {checkpoint_id}")

    async def _stream(self, library: _Library, saver: BaseCheckpointSaver[Any], continues: bool) -> None:
        graph, config = library
        kwargs = self.run["kwargs"]
        if continues:
            state = await graph.aget_state(self._thread_config(saver))
            if await is_at_breakpoint(saver, state, kwargs):
                return self._output.state.stopped(state.values)
        given = None if continues else graph_input(kwargs)
        if isinstance(self._output, ProtocolOutput):
            return await self._stream_protocol(library, given, self._output)
        options = {**call_options(self.run, graph), "stream_mode": library_modes_of(kwargs["stream_mode"])}
        tools = ToolEvents()
        if "tools" in kwargs["stream_mode"]:
            config = {**config, "callbacks": [tools]}
        if "events" not in kwargs["stream_mode"]:
            async for chunk in graph.astream(given, config, **options):
                self._output.chunk(tools.on_wire(chunk))
                await self._room()
            return
        async for event in graph.astream_events(given, config, version="v2", **options):
            if event["event"] == "on_chain_stream" and str(event["run_id"]) == self.run["runId"]:
                self._output.chunk(tools.on_wire(event["data"]["chunk"]))
            else:
                self._output.library_event(event)
            await self._room()

    async def _stream_protocol(self, library: _Library, given: Any, output: ProtocolOutput) -> None:
        options = call_options(self.run, library.graph)
        del options["subgraphs"]  # always shown
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it may change
            events = await library.graph.astream_events(
                given, library.config, version="v3", transformers=transformers(), **options
            )
        async with events:
            async for event in events:
                output.event(event)
                await self._room()

    async def _room(self) -> None:
        if not self._flowing.is_set():
            await self._flowing.wait()
        if not self._worker.channel.has_room():
            await self._worker.channel.room()

    def _thread_config(self, saver: BaseCheckpointSaver[Any]) -> dict[str, Any]:
        return {"configurable": {"thread_id": self.run["threadId"], CHECKPOINTER_KEY: saver}}

    def _values_text(self) -> bytes | None:
        """Only a thread keeps values, and only a reader or a webhook wants them."""
        if not self._output.state.has_values:
            return None
        is_read = self.wanted["isWanted"] or self.wanted["isAwaited"] or self.run["kwargs"].get("webhook")
        return None if self.run["isTemporary"] and not is_read else dumps(self._output.state.values)

    async def _finished(self, library: _Library, saver: BaseCheckpointSaver[Any]) -> Outcome:
        output = self._output
        output.finished()
        state = output.state
        values = self._values_text()
        message = values and self._too_large("the result", values)
        if message:
            return self._stopped(Stop("too-large", message=message))
        if state.interrupts is None and not shows_interrupts(library.graph):
            found = interrupts_of(await library.graph.aget_state(self._thread_config(saver)))
            state.interrupts = found or None
        if state.interrupts is None:
            waits = await self._waits_at_breakpoint(library, saver)
            end = {"status": "success", "threadStatus": "interrupted" if waits else "idle"}
            return _ended(end, values or b"{}", values, b"{}" if waits else b"")
        interrupts = b"{}"
        if not self.run["isTemporary"]:
            interrupts = dumps(interrupts_by_task(await library.graph.aget_state(self._thread_config(saver))))
        last = state.values if isinstance(state.values, dict) else {}
        body = dumps({**last, "__interrupt__": state.interrupts})
        message = self._too_large("the result", body)
        if message:
            return self._stopped(Stop("too-large", message=message))
        return _ended({"status": "success", "threadStatus": "interrupted"}, body, values, interrupts)

    async def _waits_at_breakpoint(self, library: _Library, saver: BaseCheckpointSaver[Any]) -> bool:
        """Whether the graph stopped before or behind a node, of which the library streams nothing among the values."""
        graph, kwargs = library.graph, self.run["kwargs"]
        asked = (kwargs.get("interrupt_before"), kwargs.get("interrupt_after"))
        built = (getattr(graph, name, None) for name in ("interrupt_before_nodes", "interrupt_after_nodes"))
        if self.run["isTemporary"] or not any((*asked, *built)):
            return False
        return bool((await graph.aget_state(self._thread_config(saver))).next)

    def _stopped(self, reason: Stop) -> Outcome:
        match reason.kind:
            case "unstorable":
                return self._failed({"error": "StateNotStored", "message": reason.message}, "error")
            case "too-large":
                return self._failed({"error": "OutputTooLarge", "message": reason.message}, "error")
            case "timed-out":
                seconds = f"{reason.limit_ms / 1000:g}"
                message = f"The run was stopped at its time limit of {seconds} s; BG_JOB_TIMEOUT_SECS of the deployment sets it"
                return self._failed({"error": "RunTimeout", "message": message}, "timeout")
            case "cancelled":
                outcome = self._failed(
                    {"error": "UserInterrupt", "message": "The run was cancelled"}, "interrupted"
                )
                if reason.action != "rollback":
                    return outcome
                end = {"status": "interrupted", "threadStatus": "idle", "isRollback": True}
                return Outcome({**outcome.head, "end": end, "values": "none"}, outcome.body)
            case "lost":
                return Outcome({"kind": "lost", "message": short(reason.message)})
            case _:
                return Outcome({"kind": "handed-back"})

    def _failed(self, thrown: dict[str, str], status: str) -> Outcome:
        message = short(self._worker.secrets.hide(thrown["message"]))
        error = {"error": short(thrown["error"]), "message": message}
        values = self._values_text()
        if values is not None and self._too_large("the result", values):
            values = None
        if self._is_wanted():
            self._worker.channel.send("event", self._number, dumps({"event": "error"}), dumps(error))
        thread_status = "error" if status == "timeout" else status
        end = {"status": status, "threadStatus": thread_status, "error": error}
        return _ended(end, dumps({"__error__": error}), values)


def _ended(end: dict[str, Any], body: bytes, values: bytes | None, interrupts: bytes = b"") -> Outcome:
    """Large texts stand in the body, once."""
    place = "none" if values is None else "body" if values is body else "behind"
    head = {
        "kind": "ended",
        "end": end,
        "bodyChars": utf16_length(body),
        "interruptsChars": utf16_length(interrupts),
        "values": place,
    }
    return Outcome(head, interrupts + body + (values if values is not None and place == "behind" else b""))
