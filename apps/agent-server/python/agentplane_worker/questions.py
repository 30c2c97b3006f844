"""Answers about graphs, and about states through the graphs that made them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import AsyncIterator, Mapping
from typing import Any

from langgraph.types import StateUpdate
from pydantic import TypeAdapter, create_model

from .execution import Worker
from .inputs import command_of
from .process import Public
from .saver import ServerSaver
from .server import Fenced, ServerUnavailable, StoreRefused
from .states import interrupts_by_task, selected_state, state_on_wire
from .wire import checkpoint_of, dumps

#: Of an answer with more than one state: each has all the values of its thread.
_MAX_HISTORY_BYTES = 32 * 1024 * 1024

Question = Mapping[str, Any]


class Questions:
    """Each answer is the JSON text of the HTTP answer, but for `update`."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def answer(self, kind: str, question: Question) -> bytes:
        match kind:
            case "state":
                return await self._state(question)
            case "values":
                return await self._values(question)
            case "history":
                return await self._history(question)
            case "update":
                return await self._update(question)
            case "drawing":
                return await self._drawing(question)
            case "schemas":
                return await self._schemas(question)
            case "subgraphs":
                return await self._subgraphs(question)
        raise Public("bad_request", f"Python graphs answer no question about {kind}")

    @contextlib.asynccontextmanager
    async def _open(self, question: Question) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
        saver = ServerSaver(self._worker.server, thread_id=question["threadId"])
        config = _config_of(question)
        async with self._worker.graphs.open(question["graphId"], config) as graph:
            # in the configuration a saver has the graph take the namespace of a subgraph for one of its own
            yield graph.copy({"store": self._worker.store, "checkpointer": saver}), config

    async def _state(self, question: Question) -> bytes:
        async with self._open(question) as (graph, config):
            state = await graph.aget_state(config, subgraphs=question["subgraphs"])
            checkpoint_id = (question.get("checkpoint") or {}).get("checkpoint_id")
            if checkpoint_id and state.created_at is None:
                raise Public("not_found", f"Thread {question['threadId']} has no checkpoint {checkpoint_id}")
            return self._shown(state, question)

    async def _values(self, question: Question) -> bytes:
        async with self._open(question) as (graph, config):
            state = await graph.aget_state(config)
            keys, values = question.get("keys"), state.values
            if keys is not None and isinstance(values, Mapping):
                values = {key: value for key, value in values.items() if key in keys}
            place = checkpoint_of(state.config)
            found: dict[str, Any] = {"values": values}
            if place and place["checkpoint_id"]:
                found["checkpoint"] = {"id": place["checkpoint_id"], "ns": place["checkpoint_ns"]}
            return dumps(found)

    async def _history(self, question: Question) -> bytes:
        """Newest first. It ends early where it would become too long; the rest is `before` the last."""
        texts: list[bytes] = []
        size = 0
        before = question.get("before")
        async with self._open(question) as (graph, config):
            states = graph.aget_state_history(
                config,
                limit=question["limit"],
                before={"configurable": before} if before else None,
                filter=question.get("metadata"),
            )
            async for state in states:
                text = self._shown(state, question)
                size += len(text)
                if size > _MAX_HISTORY_BYTES and texts:
                    break
                texts.append(text)
        return b"[" + b",".join(texts) + b"]"

    async def _update(self, question: Question) -> bytes:
        thread_id = question["threadId"]
        async with self._open(question) as (graph, config):
            try:
                made = await graph.abulk_update_state(
                    config, [[_update_of(write) for write in step] for step in question["steps"]]
                )
            except (Fenced, StoreRefused, ServerUnavailable, Public):
                raise
            except Exception as error:
                found = self._worker.secrets.hide(f"{type(error).__name__}: {error}")
                raise Public("bad_request", f"Updating the state of thread {thread_id} failed: {found}") from error
            newest = _config_of({**question, "checkpoint": None})
            state = await graph.aget_state(newest)
        place = {"configurable": {"thread_id": thread_id, **made["configurable"]}}
        head = dumps({"checkpoint": checkpoint_of(place), "hasNext": len(state.next) > 0})
        return b"\n".join((head, dumps(interrupts_by_task(state)), dumps(state.values)))

    async def _drawing(self, question: Question) -> bytes:
        async with self._worker.graphs.open(question["graphId"], {"configurable": {}}) as graph:
            drawn = await graph.aget_graph({"configurable": {}}, xray=question["xray"])
            return dumps(drawn.to_json())

    async def _schemas(self, question: Question) -> bytes:
        async with self._worker.graphs.open(question["graphId"], {"configurable": {}}) as graph:
            return dumps(_schemas_of(graph, question["graphId"]))

    async def _subgraphs(self, question: Question) -> bytes:
        namespace, recurse = question.get("namespace"), question["recurse"]
        async with self._worker.graphs.open(question["graphId"], {"configurable": {}}) as graph:
            found = graph.aget_subgraphs(namespace=namespace, recurse=recurse)
            return dumps({name: _schemas_of(subgraph, name) async for name, subgraph in found})

    def _shown(self, state: Any, question: Question) -> bytes:
        """Errors of tasks may quote secrets of the server."""
        text = dumps(selected_state(state_on_wire(state), question.get("select")))
        has_error = any(task.error is not None for task in state.tasks)
        return self._worker.secrets.hide_bytes(text) if has_error else text


def _config_of(question: Question) -> dict[str, Any]:
    """Configuration of a look at a thread's state."""
    checkpoint = question.get("checkpoint") or {}
    return {
        "configurable": {
            **question["configurable"],
            "checkpoint_ns": "",
            **{key: value for key, value in checkpoint.items() if value is not None},
            "thread_id": question["threadId"],
        }
    }


def _update_of(write: Mapping[str, Any]) -> StateUpdate:
    command = write.get("command")
    values: Any = command_of(command) if command else write.get("values")
    return StateUpdate(values, write.get("asNode"))


def _schemas_of(graph: Any, graph_id: str) -> dict[str, Any]:
    """JSON Schemas of a graph as the wire names them; null where the graph does not say."""

    def read(make: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return make()
        except Exception:
            return None  # a type without a JSON Schema

    return {
        "graph_id": graph_id,
        "input_schema": read(graph.get_input_jsonschema) or read(lambda: _schema_of(graph, "Input", "input_channels")),
        "output_schema": read(graph.get_output_jsonschema) or read(lambda: _schema_of(graph, "Output", "output_channels")),
        "state_schema": read(lambda: _schema_of(graph, "State", "stream_channels_list")),
        "config_schema": read(graph.get_config_jsonschema),
        "context_schema": read(lambda: graph.get_context_jsonschema()),
    }


def _schema_of(graph: Any, name: str, channels: str) -> Any:
    """Of these channels, field by field: one whose type has no JSON Schema may hold anything."""
    given = getattr(graph, channels)
    names = [given] if isinstance(given, str) else given
    shown = [one for one in graph.stream_channels_list if one in names or any(n.startswith("__") for n in names)]
    fields: dict[str, Any] = {
        one: (_typed(graph.channels[one].UpdateType), None) for one in shown if not one.startswith("__")
    }
    return create_model(graph.get_name(name), **fields).model_json_schema()


def _typed(given: Any) -> Any:
    try:
        TypeAdapter(given).json_schema()
    except Exception:
        return Any
    return given
