"""The graphs of an agent: found, loaded, and opened for one run or one question."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from .modules import Export, ModuleRefused, import_module


class GraphSource(NamedTuple):
    """What `langgraph.json` says of a graph."""

    graph_id: str
    #: Absolute path of a file, or the dotted name of a module.
    place: str
    export: str


def load_graph(source: GraphSource, folder: Path) -> Any:
    """What the module exports under the name. Imports the module. Raises ModuleRefused."""
    what = f'graph "{source.graph_id}"'
    module = import_module(Export(what, source.place, source.export), folder)
    found = getattr(module, source.export, None)
    if found is None:
        names = [
            name for name, value in vars(module).items() if isinstance(value, (Pregel, StateGraph)) and name[0] != "_"
        ]
        said = f"; it has {', '.join(names)}" if names else ""
        raise ModuleRefused(f"{what}: {source.place.removeprefix(f'{folder}/')} has no {source.export}{said}")
    if not isinstance(found, (Pregel, StateGraph)) and not callable(found):
        raise ModuleRefused(f"{what}: {source.export} is neither a graph nor a function that makes one")
    return found


def _compiled(made: Any, graph_id: str) -> Pregel[Any, Any, Any, Any]:
    graph = made.compile() if isinstance(made, StateGraph) else made
    if not isinstance(graph, Pregel):
        raise ModuleRefused(f'graph "{graph_id}": its function made {type(made).__name__}, which is no graph')
    if not graph.name or graph.name == "LangGraph":
        graph.name = graph_id
    return graph


def _arguments(factory: Callable[..., Any], config: RunnableConfig, runtime: Any) -> dict[str, Any]:
    """What a factory asks for by its parameters: the configuration, the runtime, both or nothing."""
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        asks_runtime = name == "runtime" or "Runtime" in str(parameter.annotation)
        if not asks_runtime and given and parameter.default is not parameter.empty:
            continue
        given[name] = runtime if asks_runtime else config
    return given


class GraphRegistry:
    """Every graph of the agent, loaded once; factories are called for each use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, Any] = {}

    async def load(self, source: GraphSource) -> None:
        """In a thread of its own: code that hangs there leaves the loop free to say so. Raises ModuleRefused."""
        found = await asyncio.to_thread(load_graph, source, self._folder)
        if isinstance(found, (Pregel, StateGraph)):
            found = _compiled(found, source.graph_id)
        self._found[source.graph_id] = found

    @contextlib.asynccontextmanager
    async def open(
        self, graph_id: str, config: RunnableConfig, runtime: Any = None
    ) -> AsyncIterator[Pregel[Any, Any, Any, Any]]:
        """A graph for as long as the context lasts. Raises KeyError for one that the agent does not have."""
        found = self._found[graph_id]
        if isinstance(found, Pregel):
            yield found
            return
        made = found(**_arguments(found, config, runtime))
        if inspect.isawaitable(made):
            made = await made
        if hasattr(made, "__aenter__"):
            async with made as graph:
                yield _compiled(graph, graph_id)
        elif hasattr(made, "__enter__") and not isinstance(made, (Pregel, StateGraph)):
            with made as graph:
                yield _compiled(graph, graph_id)
        else:
            yield _compiled(made, graph_id)
