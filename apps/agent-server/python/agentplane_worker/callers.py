"""Callers of an agent: a request as its authentication handler sees it, and the user that the handler answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

from .wire import exact, json_text

_NO_BODY = "the body of a request has not arrived when its caller is authenticated; handlers of Auth.on see what it asks for"


class Headers(Mapping[Any, Any]):
    """Headers of a request by name in any case: bytes give bytes, texts give texts."""

    def __init__(self, raw: list[tuple[bytes, bytes]]) -> None:
        self._values: dict[bytes, bytes] = {}
        for name, value in raw:
            before = self._values.get(name)
            self._values[name] = value if before is None else before + b", " + value

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, bytes):
            return self._values[name.lower()]
        return self._values[str(name).lower().encode("latin-1")].decode("latin-1")

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class _PlainRequest:
    """A request where the agent has no Starlette."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        self.headers = Headers(scope["headers"])
        self.query_params = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        self.path_params: dict[str, Any] = scope["path_params"]

    async def body(self) -> NoReturn:
        raise RuntimeError(_NO_BODY)

    json = form = stream = body


async def _receive() -> NoReturn:
    raise RuntimeError(_NO_BODY)


def path_of(raw: bytes) -> dict[str, Any]:
    """The path of a request as ASGI has it: decoded, and as it was sent. An app and a handler read the same."""
    return {"path": unquote_to_bytes(raw).decode("utf-8", "replace"), "raw_path": raw}


def scope_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A request of a client as ASGI describes one: method, address, headers and the parts of its path; no body."""
    base = urlsplit(asked["base"])
    raw, _, query = asked["target"].encode("latin-1", "replace").partition(b"#")[0].partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": asked["method"],
        "scheme": base.scheme or "http",
        **path_of(raw),
        "query_string": query,
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in asked["headers"]],
        "path_params": asked.get("params") or {},
        "client": None,
        "server": (base.hostname or "localhost", base.port or 80),
    }


def request_of(scope: dict[str, Any]) -> Any:
    """The request as Starlette has it, which FastAPI brings, or as near to that as can be without it."""
    try:
        from starlette.requests import Request
    except ImportError:
        return _PlainRequest(scope)
    return Request(scope, _receive)


_OF_USERS = ("identity", "display_name", "is_authenticated", "permissions")


def _fields_of(answer: Any) -> Mapping[str, Any] | None:
    """Fields of a user that a handler answered; None for what is no user."""
    if isinstance(answer, Mapping):
        return answer
    dump = getattr(answer, "model_dump", None)
    if callable(dump):
        fields = dump()
    elif dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        fields = {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
    else:
        fields = {name: value for name, value in getattr(answer, "__dict__", {}).items() if not name.startswith("_")}
    given = {name: getattr(answer, name) for name in _OF_USERS if hasattr(answer, name)}
    return {**fields, **given} if "identity" in given else None


def user_on_wire(answer: Any) -> Any:
    """What a handler answered, as JSON: an identity, or a user without what is no JSON."""
    fields = None if isinstance(answer, str) else _fields_of(answer)
    if fields is None:
        return None if json_text(answer) is None else answer
    # a number that is too long for JSON here is not left out in silence
    texts = {
        str(name): str(int(value)).encode() if isinstance(value, int) and not isinstance(value, bool) else json_text(value)
        for name, value in fields.items()
    }
    return {name: exact(text, f"the user's {name}") for name, text in texts.items() if text is not None}
