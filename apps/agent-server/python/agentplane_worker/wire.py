"""Values as the wire shows them."""

from __future__ import annotations

import dataclasses
import decimal
import json
import math
import pathlib
import re
from collections import deque
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

import orjson

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS


def _plain(value: Any) -> Any:
    """What JSON has no form for, as something that it has one for. Raises TypeError for the rest."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, BaseException):
        return error_on_wire(value)
    as_dict = getattr(value, "_asdict", None)
    if callable(as_dict) and isinstance(value, tuple):
        return as_dict()
    if isinstance(value, (set, frozenset, deque)):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, (decimal.Decimal, pathlib.PurePath, ZoneInfo, complex)):
        return str(value)
    if isinstance(value, re.Pattern):
        return value.pattern
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    old = getattr(value, "dict", None)  # pydantic 1
    if callable(old):
        return old()
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict):
        return to_dict()
    slots = getattr(type(value), "__slots__", None)
    if isinstance(slots, tuple) and slots:
        return {name: getattr(value, name) for name in slots if hasattr(value, name)}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _repaired(value: Any) -> Any:
    """The same for the slow way: integers of any size, texts with lone surrogates, keys of any kind."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(_repaired(str(key))): _repaired(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [_repaired(item) for item in value]
    try:
        return orjson.loads(orjson.dumps(value, default=_plain, option=_OPTIONS))
    except TypeError:
        return _repaired(_plain(value))


def json_text(value: Any) -> bytes | None:
    """JSON text of a value, in one line; None for what has no JSON form."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS)
    except Exception:  # objects of the agent raise what they like
        return None


def dumps(value: Any) -> bytes:
    """JSON text of a value, in one line. What has no JSON says so instead of failing the run."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS)
    except Exception as first:  # objects of the agent raise what they like
        try:
            return json.dumps(_repaired(value), ensure_ascii=False, allow_nan=False).encode()
        except Exception:
            return orjson.dumps({"__unserializable__": f"{type(first).__name__}: {error_on_wire(first)['message']}"})


#: Beyond it the server, whose numbers are those of JSON in JavaScript, would take a number for another one.
_MOST_EXACT = 2**53 - 1


#: Characters of a place in a message; names of clients may have any length.
_MAX_PLACE_CHARS = 200


def exact(text: bytes, what: str) -> Any:
    """What a JSON text says: objects, numbers of other libraries and what else has a JSON form are all written there.
    Raises ValueError for a whole number which the server would round.
    """
    value = loads(text)
    found = _inexact(value)
    if found:
        why, names = found
        place = ".".join([what, *reversed(names)])
        shown = place if len(place) <= _MAX_PLACE_CHARS else f"{place[:_MAX_PLACE_CHARS]}…"
        raise ValueError(f"{shown} holds a number beyond 2**53, which {why}; write it as a text")
    return value


def _inexact(value: Any) -> tuple[str, list[str]] | None:
    """What is wrong with the first such number, and the names that lead to it, innermost first: on the way down they
    would be copied for every value.
    """
    if isinstance(value, int):
        return ("would be rounded", []) if abs(value) > _MOST_EXACT else None
    if isinstance(value, float):
        return ("stands for others too", []) if value.is_integer() and abs(value) > _MOST_EXACT else None
    if isinstance(value, dict):
        for key, one in value.items():
            found = _inexact(one)
            if found:
                found[1].append(key[:_MAX_PLACE_CHARS])
                return found
    elif isinstance(value, list):
        for one in value:
            found = _inexact(one)
            if found:
                return found
    return None


def loads(text: bytes) -> Any:
    """A JSON text as a value, also one with half of a surrogate pair, which JSON permits in an escape."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def error_on_wire(thrown: BaseException) -> dict[str, str]:
    """Anything raised, as the wire shows it. Never raises."""
    try:
        return {"error": type(thrown).__name__, "message": str(thrown)}
    except Exception:
        return {"error": type(thrown).__name__, "message": "something was raised that cannot be shown"}


#: Of the message of an error: rows of runs and of threads hold it, and heads of frames.
_MAX_MESSAGE_CHARS = 16 * 1024


def short(message: str) -> str:
    """The message of an error, whose text may be what it was raised for."""
    if len(message) <= _MAX_MESSAGE_CHARS:
        return message
    return f"{message[:_MAX_MESSAGE_CHARS]}… ({len(message) - _MAX_MESSAGE_CHARS} more characters)"


def utf16_length(text: bytes) -> int:
    """Length of an UTF-8 text as the server counts it."""
    return len(text) if text.isascii() else len(text.decode().encode("utf-16-le")) // 2


def checkpoint_of(config: Any) -> dict[str, Any] | None:
    """The checkpoint that a configuration names; None when it names none."""
    configurable = config.get("configurable") if isinstance(config, Mapping) else None
    if not isinstance(configurable, Mapping) or configurable.get("thread_id") is None:
        return None
    return {
        "thread_id": configurable["thread_id"],
        "checkpoint_ns": configurable.get("checkpoint_ns") or "",
        "checkpoint_id": configurable.get("checkpoint_id"),
        "checkpoint_map": configurable.get("checkpoint_map"),
    }


def _parts_of(secret: str) -> list[str]:
    """Of an address the password alone counts too, as it stands there and as it is meant."""
    try:
        password = urlsplit(secret).password or ""
    except ValueError:
        password = ""  # no address
    return [secret, password, unquote(password)]


class SecretWords:
    """Takes the server's own secrets out of texts that leave it."""

    def __init__(self, words: list[str]) -> None:
        # longest first: a password may be a part of its address
        parts = {part for word in words for part in _parts_of(word) if len(part) >= 6}
        self._words = sorted(parts, key=len, reverse=True)

    def hide(self, text: str) -> str:
        for word in self._words:
            text = text.replace(word, "[hidden]")
        return text

    def hide_bytes(self, text: bytes) -> bytes:
        for word in self._words:
            text = text.replace(word.encode(), b"[hidden]")
        return text
