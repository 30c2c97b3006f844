"""The configuration with which a graph is called."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from .modes import modes_of
from .user import User
from .wire import dumps

Run = Mapping[str, Any]

CHECKPOINTER_KEY = "__pregel_checkpointer"

#: `__` keys steer the library itself, and where a run begins stands in a place of its own.
_RESERVED = re.compile(r"^(__|checkpoint_(id|ns|map)$)")
#: Who calls is the server's to say, and set by it alone.
_CALLER = re.compile(r"^(langgraph_auth_(user|user_id|permissions)|graph_auth_user)$")
_USERS = ("langgraph_auth_user", "graph_auth_user")
#: Of a document that is recorded in every checkpoint.
_MAX_RECORDED_BYTES = 16 * 1024


def _without_caller(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if not _CALLER.match(key)}


def identity_of(run: Run) -> dict[str, str]:
    """What a run is called in `configurable`, traces and checkpoints."""
    return {
        "run_id": run["runId"],
        "thread_id": run["threadId"],
        "graph_id": run["graphId"],
        "assistant_id": run["assistantId"],
    }


def configurable_of(given: Mapping[str, Any] | None, *own: Mapping[str, Any]) -> dict[str, Any]:
    """The `configurable` of a call; `own` is set by the server, over what was given."""
    permitted = {
        key: value for key, value in _without_caller(given or {}).items() if not _RESERVED.match(key)
    }
    for one in own:
        permitted.update(one)
    return permitted


def recorded_metadata(run: Run) -> dict[str, Any]:
    """What is recorded with every checkpoint of a run."""
    given = _without_caller((run["kwargs"].get("config") or {}).get("configurable") or {})
    kept = {
        key: value
        for key, value in given.items()
        if not key.startswith(("__", "checkpoint_")) and not isinstance(value, (dict, list))
    }
    # a copy stands in every checkpoint: whole documents are for the run alone
    recorded = {} if len(dumps(kept)) > _MAX_RECORDED_BYTES else kept
    return {**recorded, **run["metadata"], **identity_of(run), "run_attempt": run["attempt"]}


def durability_of(run: Run) -> str | None:
    kwargs = run["kwargs"]
    if kwargs.get("durability"):
        return str(kwargs["durability"])
    needs_checkpoints = any(mode.needs_checkpoints for mode in modes_of(kwargs["stream_mode"]))
    return "exit" if run["isTemporary"] and not needs_checkpoints else None


def _caller_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the server adds of the caller: a user has attributes too."""
    return {key: User(value) if key in _USERS and isinstance(value, dict) else value for key, value in fields.items()}


def run_config(run: Run, saver: Any, *, continues: bool) -> dict[str, Any]:
    """The configuration of one attempt of a run. Graphs that know no context find it in `configurable`."""
    kwargs = run["kwargs"]
    given = kwargs.get("config") or {}
    identity = identity_of(run)
    configurable = given.get("configurable") or kwargs.get("context")
    begins = {} if continues else {key: value for key, value in (kwargs.get("checkpoint") or {}).items() if value}
    config: dict[str, Any] = {
        "configurable": configurable_of(
            configurable, _caller_of(kwargs["caller"]), identity, begins, {CHECKPOINTER_KEY: saver}
        ),
        "metadata": {
            **(given.get("metadata") or {}),
            **run["metadata"],
            **identity,
            "run_attempt": run["attempt"],
        },
        "run_id": run["runId"],
        "run_name": given.get("run_name") or run["graphId"],
    }
    if given.get("tags"):
        config["tags"] = list(given["tags"])
    if given.get("recursion_limit"):
        config["recursion_limit"] = given["recursion_limit"]
    return config


def _defaults_of(schema: Any) -> Any:
    """The context of a caller who gives none: what its class makes of nothing, if it makes anything."""
    if not isinstance(schema, type) or not (is_dataclass(schema) or hasattr(schema, "model_fields")):
        return None
    try:
        return schema()
    except (TypeError, ValueError):  # a field that a caller has to give
        return None


def _fields_of(schema: Any) -> set[str] | None:
    """What a context may hold; None where anything may stand."""
    if is_dataclass(schema):
        return {field.name for field in fields(schema)}
    known = getattr(schema, "model_fields", None) or getattr(schema, "__annotations__", None)
    return set(known) if known else None


def context_of(kwargs: Mapping[str, Any], schema: Any) -> Any:
    """The context of a call. Callers that know none say the same in `configurable`."""
    given = _without_caller(kwargs.get("context") or {})
    if given:
        return given
    known = _fields_of(schema)
    configurable = configurable_of((kwargs.get("config") or {}).get("configurable"))
    meant = {key: value for key, value in configurable.items() if known is None or key in known}
    return meant or _defaults_of(schema)


def _parameters_of(graph: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(graph.astream).parameters


def shows_interrupts(graph: Any) -> bool:
    """Whether its values name what it stopped for, as they do since release 0.6."""
    return "durability" in _parameters_of(graph)


def call_options(run: Run, graph: Any) -> dict[str, Any]:
    """What else the graph is called with."""
    kwargs = run["kwargs"]
    known = _parameters_of(graph)
    context = context_of(kwargs, getattr(graph, "context_schema", None))
    options: dict[str, Any] = {"subgraphs": bool(kwargs.get("subgraphs"))}
    # graphs of releases before 0.6 find their context in `configurable`
    if context is not None and "context" in known:
        options["context"] = context
    for name in ("interrupt_before", "interrupt_after"):
        if kwargs.get(name):
            options[name] = kwargs[name]
    durability = durability_of(run)
    if durability and "durability" in known:
        options["durability"] = durability
    elif durability:
        options["checkpoint_during"] = durability != "exit"
    return options
