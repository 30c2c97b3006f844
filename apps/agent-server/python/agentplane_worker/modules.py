"""The agent's own modules: imported by file or by name, with errors that name the agent's line."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .wire import error_on_wire


class ModuleRefused(Exception):
    """A module of the agent does not load, or does not export what is asked for; the message says which, why and what to do."""


class Export(NamedTuple):
    """What a module exports."""

    #: How messages call it, as in `graph "agent"`.
    what: str
    #: Absolute path of a file, or the dotted name of a module.
    place: str
    name: str


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
        raise ModuleRefused(f"{file} is no Python file")
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



def import_module(export: Export, folder: Path) -> ModuleType:
    """The module that is to export it. Raises ModuleRefused."""
    what, place, _ = export
    try:
        is_file = place.endswith(".py") or "/" in place
        if is_file and not Path(place).is_file():
            raise ModuleRefused(f"{what}: there is no file {place.removeprefix(f'{folder}/')}")
        return _import_file(Path(place), folder) if is_file else importlib.import_module(place)
    except ModuleRefused:
        raise
    except ModuleNotFoundError as error:
        raise ModuleRefused(
            f"{what}: module {error.name} is missing{_where(error, folder)}; add it to the agent's dependencies"
        ) from error
    except BaseException as error:
        # that of a syntax error names its place in words of its own
        text = error.msg if isinstance(error, SyntaxError) else error_on_wire(error)["message"]
        shown = "".join(text.splitlines()[:1])
        raise ModuleRefused(f"{what}: {type(error).__name__}: {shown}{_where(error, folder)}") from error


async def load_export(export: Export, folder: Path) -> Any:
    """What the module exports under the name. Imports it in a thread: code that hangs leaves the loop free to say so.

    Raises ModuleRefused.
    """
    module = await asyncio.to_thread(import_module, export, folder)
    found = getattr(module, export.name, None)
    if found is None:
        raise ModuleRefused(f"{export.what}: {export.place.removeprefix(f'{folder}/')} has no {export.name}")
    return found
