"""How values of states are stored: as MessagePack that makes no class but those of a closed list."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Mapping
from enum import Enum
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

#: Releases of the library since 4.0.1 keep to a closed list by themselves.
_IS_STRICT = "allowed_msgpack_modules" in inspect.signature(JsonPlusSerializer.__init__).parameters

#: Harmless classes and functions by module, beside those of the agent and of LangChain that only hold fields.
_HARMLESS: Mapping[str, frozenset[str]] = {
    "datetime": frozenset(("datetime", "date", "time", "timedelta", "timezone")),
    "uuid": frozenset(("UUID",)),
    "decimal": frozenset(("Decimal",)),
    "builtins": frozenset(("set", "frozenset")),
    "collections": frozenset(("deque",)),
    "ipaddress": frozenset(f"IPv{version}{kind}" for version in (4, 6) for kind in ("Address", "Interface", "Network")),
    "pathlib": frozenset(("Path", "PosixPath", "WindowsPath")),
    "pathlib._local": frozenset(("Path", "PosixPath", "WindowsPath")),
    "zoneinfo": frozenset(("ZoneInfo",)),
    "re": frozenset(("compile",)),
    "langgraph.types": frozenset(("Send",)),
    "langgraph.store.base": frozenset(("Item",)),
}


def _maker_of(module: str, name: str) -> Any:
    """A class by its name, where its values are made of nothing but fields; None for others. Imports nothing."""
    loaded = sys.modules.get(module)
    found = getattr(loaded, name, None)
    if name in _HARMLESS.get(module, ()):
        return found
    if not isinstance(found, type):
        return None
    is_named_tuple = issubclass(found, tuple) and hasattr(found, "_fields")
    return found if is_named_tuple or issubclass(found, (BaseModel, Enum)) or dataclasses.is_dataclass(found) else None


def _unpacked(data: bytes) -> Any:
    return ormsgpack.unpackb(data, ext_hook=_extension, option=ormsgpack.OPT_NON_STR_KEYS)


def _extension(code: int, data: bytes) -> Any:
    """A value that older releases write as `(module, name, argument, …)`. Its argument, where it may not be made."""
    if code > jsonplus.EXT_PYDANTIC_V2:
        return jsonplus._msgpack_ext_hook(code, data)  # arrays of numbers
    module, name, argument, *more = _unpacked(data)
    maker = _maker_of(module, name)
    if maker is None:
        return argument
    try:
        if code == jsonplus.EXT_METHOD_SINGLE_ARG:
            is_date = (module, name, more) == ("datetime", "datetime", ["fromisoformat"])
            return maker.fromisoformat(argument) if is_date else argument
        if code == jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG:
            return maker(argument)
        return maker(*argument) if code == jsonplus.EXT_CONSTRUCTOR_POS_ARGS else maker(**argument)
    except Exception:
        # a model whose fields have changed since
        return maker.model_construct(**argument) if hasattr(maker, "model_construct") else argument


class StateSerializer(JsonPlusSerializer):
    """The library's serializer, narrowed: what callers and models wrote is data.

    Classes come from the library's own list of harmless ones and from the schemas of the agent's graphs; in releases before
    4.0.1, which have no list, from the one above. Text that looks like a constructor of LangChain comes back as the equal
    JSON value. Nothing is pickled.
    """

    def __init__(self) -> None:
        if _IS_STRICT:
            super().__init__(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)
        else:
            super().__init__(pickle_fallback=False, __unpack_ext_hook__=_extension)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, text = data
        if kind == "json":
            return json.loads(text)
        return super().loads_typed(data)
