"""The graphs of an agent: found, loaded, and opened for one run or one question."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from .wire import error_on_wire


class GraphRefused(Exception):
    """A graph does not load; the message says which, why and what to do."""


class GraphSource(NamedTuple):
    """What `langgraph.json` says of a graph."""

    graph_id: str
    #: Absolute path of a file, or the dotted name of a module.
    place: str
    export: str


def _package_root(file: Path) -> tuple[Path, str]:
    """The folder from which a file is imported, and its dotted name there."""
    root, parts = file.parent, [file.stem]
    while (root / "__init__.py").exists() and root.parent != root:
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


def _import_file(file: Path, folder: Path) -> ModuleType:
    root, name = _package_root(file)
    if "." not in name and (name in sys.stdlib_module_names or name in sys.modules):
        # a name of its own: by its path in the agent's folder
        inside = file.relative_to(folder) if file.is_relative_to(folder) else Path(file.name)
        root, name = folder, ".".join(inside.with_suffix("").parts)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    if all(part.isidentifier() for part in name.split(".")):
        module = importlib.import_module(name)
        if getattr(module, "__file__", None) and Path(str(module.__file__)).resolve() == file.resolve():
            return module
    name = "agentplane_graph_" + "".join(char if char.isalnum() else "_" for char in str(file))
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise GraphRefused(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _where(error: BaseException, folder: Path) -> str:
    """The agent's own line in which it was raised."""
    found = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(f"{folder}/") and "/site-packages/" not in file:
            found = f" ({file.removeprefix(f'{folder}/')}:{trace.tb_lineno})"
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        found = f" ({error.filename.removeprefix(f'{folder}/')}:{error.lineno})"
    return found


def load_graph(source: GraphSource, folder: Path) -> Any:
    """What the module exports under the name. Imports the module. Raises GraphRefused."""
    what = f'graph "{source.graph_id}"'
    try:
        is_file = source.place.endswith(".py") or "/" in source.place
        if is_file and not Path(source.place).is_file():
            raise GraphRefused(f"{what}: there is no file {source.place.removeprefix(f'{folder}/')}")
        module = (
            _import_file(Path(source.place), folder) if is_file else importlib.import_module(source.place)
        )
    except GraphRefused:
        raise
    except ModuleNotFoundError as error:
        raise GraphRefused(
            f"{what}: module {error.name} is missing{_where(error, folder)}; add it to the agent's dependencies"
        ) from error
    except BaseException as error:
        # that of a syntax error names its place in words of its own
        text = error.msg if isinstance(error, SyntaxError) else error_on_wire(error)["message"]
        shown = "".join(text.splitlines()[:1])
        raise GraphRefused(f"{what}: {type(error).__name__}: {shown}{_where(error, folder)}") from error
    found = getattr(module, source.export, None)
    if found is None:
        names = [
            name for name, value in vars(module).items() if isinstance(value, (Pregel, StateGraph)) and name[0] != "_"
        ]
        said = f"; it has {', '.join(names)}" if names else ""
        raise GraphRefused(f"{what}: {source.place.removeprefix(f'{folder}/')} has no {source.export}{said}")
    if not isinstance(found, (Pregel, StateGraph)) and not callable(found):
        raise GraphRefused(f"{what}: {source.export} is neither a graph nor a function that makes one")
    return found


def _compiled(made: Any, graph_id: str) -> Pregel[Any, Any, Any, Any]:
    graph = made.compile() if isinstance(made, StateGraph) else made
    if not isinstance(graph, Pregel):
        raise GraphRefused(f'graph "{graph_id}": its function made {type(made).__name__}, which is no graph')
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
        """In a thread of its own: code that hangs there leaves the loop free to say so. Raises GraphRefused."""
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
