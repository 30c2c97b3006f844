"""What a graph is called with, from the texts of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.types import Command, Send


def _target(wire: Any) -> Any:
    """A target of `goto`: a name, or a node with a state of its own."""
    if not isinstance(wire, Mapping):
        return wire
    given = wire.get("input", wire.get("args"))
    return Send(wire["node"], {} if given is None else given)


def command_of(wire: Mapping[str, Any]) -> Command[Any]:
    """A command as the library has it."""
    goto = wire.get("goto")
    targets = [_target(one) for one in goto] if isinstance(goto, list) else _target(goto)
    given: dict[str, Any] = {}
    if goto is not None:
        given["goto"] = targets
    if wire.get("update") is not None:
        update = wire["update"]
        given["update"] = [tuple(one) for one in update] if _is_pairs(update) else update
    if "resume" in wire and wire["resume"] is not None:
        given["resume"] = wire["resume"]
    return Command(**given)


def _is_pairs(update: Any) -> bool:
    return isinstance(update, list) and all(isinstance(one, list) and len(one) == 2 for one in update)


def graph_input(kwargs: Mapping[str, Any]) -> Any:
    """The input to call the graph with: what the run was given, or a command to a graph that stopped."""
    command = kwargs.get("command")
    return command_of(command) if command else kwargs.get("input")
