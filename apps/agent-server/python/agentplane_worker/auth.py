"""An agent's own handlers (`langgraph_sdk.Auth`): they say who calls and what each caller may reach; the server enforces it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import orjson

from .callers import Headers, request_of, scope_of, user_on_wire
from .logs import stack_text
from .modules import Export, ModuleRefused, load_export
from .process import Process, Public, failure_of
from .user import User
from .wire import SecretWords, dumps, is_json, require_exact

#: What an authentication handler may ask for, by the names of its parameters.
_PARAMETERS = ("request", "path", "method", "path_params", "query_params", "headers", "authorization")

#: Errors of the libraries that verify tokens: what was sent is wrong, not the handler.
_TOKEN_ERRORS = {
    ("jwt.exceptions", "InvalidTokenError"),
    ("jose.exceptions", "JWTError"),
    ("jose.exceptions", "JWSError"),
    ("authlib.jose.errors", "JoseError"),
    ("joserfc.errors", "JoseError"),
}

Handler = Callable[..., Any]


def _is_token_error(error: BaseException) -> bool:
    return any((kind.__module__, kind.__name__) in _TOKEN_ERRORS for kind in type(error).__mro__)


def _refusal_of(error: BaseException) -> dict[str, Any] | None:
    """The HTTPException that a handler raised, of the SDK or of Starlette; None for any other error."""
    status, detail = getattr(error, "status_code", None), getattr(error, "detail", None)
    if type(status) is not int or not 400 <= status <= 599:
        return None
    headers = getattr(error, "headers", None) or {}
    shown = {str(name): str(value) for name, value in headers.items()} if isinstance(headers, Mapping) else {}
    # the server has words of its own for a detail that is no text
    return {"kind": "refused", "status": status, "detail": detail if isinstance(detail, str) else "", "headers": shown}


def _asked_by(handler: Handler, what: str) -> tuple[str, ...]:
    """The parameters that an authentication handler is given. Raises ModuleRefused for one that nothing is known of."""
    asked: list[str] = []
    for name, parameter in inspect.signature(handler).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            return _PARAMETERS
        if name in _PARAMETERS:
            asked.append(name)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            why = (
                "the body has not arrived when a caller is authenticated"
                if name == "body"
                else f"it may ask for {', '.join(_PARAMETERS)}"
            )
            raise ModuleRefused(f"{what}: its authenticate asks for {name}; {why}")
    return tuple(asked)


def _event_of(resource: str, action: str) -> str:
    """As the server names the events of handlers."""
    return resource if action == "*" else f"{resource}:{action}"


class AgentAuth:
    """The handlers of an agent's `Auth`, which may come from any version of the SDK."""

    def __init__(self, exported: Any, what: str) -> None:
        authenticate = getattr(exported, "_authenticate_handler", None)
        by_event = getattr(exported, "_handlers", None)
        if not isinstance(by_event, dict):
            raise ModuleRefused(f"{what} is not an instance of Auth of langgraph_sdk")
        found = {_event_of(*event): one[-1] for event, one in by_event.items() if one}
        overall = getattr(exported, "_global_handlers", None)
        if overall:
            found["*"] = overall[-1]
        if authenticate is None and not found:
            raise ModuleRefused(f"{what} has no handler; use authenticate or on of the Auth")
        self._authenticate: Handler | None = authenticate
        self._parameters = _asked_by(authenticate, what) if authenticate else ()
        self._handlers: dict[str, Handler] = found

    def describe(self) -> dict[str, Any]:
        """Which handlers there are, so that the server asks no other."""
        return {"authenticates": self._authenticate is not None, "events": list(self._handlers)}

    async def authenticate(self, asked: Mapping[str, Any]) -> Any:
        """The user, as JSON. Raises what the handler raises."""
        if self._authenticate is None:
            raise Public("bad_request", "the agent has no authentication handler")
        return user_on_wire(await _call(self._authenticate, self._arguments(scope_of(asked))))

    def _arguments(self, scope: dict[str, Any]) -> dict[str, Any]:
        headers = Headers(scope["headers"])
        make: dict[str, Callable[[], Any]] = {
            "request": lambda: request_of(scope),
            "path": lambda: scope["path"],
            "method": lambda: scope["method"],
            "path_params": lambda: scope["path_params"],
            "query_params": lambda: dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)),
            "headers": lambda: headers,
            "authorization": lambda: headers.get("authorization"),
        }
        return {name: make[name]() for name in self._parameters}

    async def authorize(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the handler of an event answers, and the value where it changed that. Raises what the handler raises."""
        from langgraph_sdk.auth import types

        resource, _, action = str(asked["event"]).partition(":")
        value, fields = asked["value"], asked["user"]
        before = _texts_of(value)
        kwargs_before = _texts_of(value["kwargs"]) if isinstance(value.get("kwargs"), dict) else None
        if isinstance(value.get("namespace"), list):
            value["namespace"] = tuple(value["namespace"])
        studio = asked["isStudio"]
        user: Any = types.StudioUser(fields["identity"], is_authenticated=True) if studio else User(fields)
        context = types.AuthContext(
            permissions=fields.get("permissions") or [], user=user, resource=resource, action=action  # type: ignore[arg-type]
        )
        answer = await _call(self._handlers[asked["handler"]], {"ctx": context, "value": value})
        if answer is not None and type(answer) not in (bool, dict):
            raise TypeError(f"it answered a {type(answer).__name__} that is no filter; answer nothing, True, False or a filter")
        orjson.dumps(answer)  # a filter that is no JSON cannot be applied
        require_exact(answer, "the filter")
        left = _left_of(before, value, kwargs_before)
        return {"answer": answer, "left": left} if left else {"answer": answer}


def _texts_of(value: Mapping[str, Any]) -> dict[str, bytes]:
    return {name: dumps(one) for name, one in value.items()}


def _left_of(
    before: Mapping[str, bytes], value: Mapping[str, Any], kwargs_before: Mapping[str, bytes] | None = None
) -> dict[str, Any] | None:
    """The members that a handler changed or took out; None where it left all as they were. Raises for what is no JSON."""
    left: dict[str, Any] = {"changed": {}, "removed": [name for name in before if name not in value]}
    for name, one in value.items():
        text = dumps(one)
        if text == before.get(name):
            continue
        if name == "kwargs" and kwargs_before is not None and isinstance(one, dict):
            left["kwargs"] = _left_of(kwargs_before, one)
            continue
        if not is_json(one):
            raise TypeError(f"the handler left something in value.{name} that has no JSON form")
        require_exact(one, f"value.{name}")
        left["changed"][name] = one
    return left if left["changed"] or left["removed"] or left.get("kwargs") else None


async def _call(handler: Handler, arguments: dict[str, Any]) -> Any:
    """One that is no coroutine may wait for something else: it does so in a thread."""
    if inspect.iscoroutinefunction(handler):
        return await handler(**arguments)
    made = await asyncio.to_thread(handler, **arguments)
    return await made if isinstance(made, Awaitable) else made


class AuthProcess(Process):
    """One process with the handlers of an agent."""

    def __init__(self) -> None:
        super().__init__()
        self._auth: AgentAuth | None = None
        self._secrets = SecretWords([])

    async def load(self, order: dict[str, Any], folder: Path, secrets: SecretWords) -> None:
        self._secrets = secrets
        asked = order["module"]
        self.loads(asked["setting"], asked["file"])
        export = Export(f'"{asked["setting"]}" of langgraph.json', asked["file"], asked["exportName"])
        found = await load_export(export, folder)
        place = export.place.removeprefix(f"{folder}/")
        self._auth = AgentAuth(found, f"{export.what}: {export.name} of {place}")

    async def answer(self, kind: str, question: dict[str, Any]) -> bytes:
        if self._auth is None:
            raise Public("unavailable", "The handlers are not loaded yet; retry")
        if kind == "handlers":
            return dumps(self._auth.describe())
        try:
            if kind == "authenticate":
                return dumps({"kind": "answered", "answer": await self._auth.authenticate(question)})
            if kind == "authorize":
                return dumps({"kind": "answered", **await self._auth.authorize(question)})
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            return dumps(self._thrown(error))
        return await super().answer(kind, question)

    def _thrown(self, error: BaseException) -> dict[str, Any]:
        """What a handler raised. Only a refusal in words of its own reaches a caller; the rest is for the log."""
        refusal = _refusal_of(error)
        if refusal:
            return refusal
        if _is_token_error(error):
            return {"kind": "token"}
        failure = failure_of(error, stack_text(error))
        return {"kind": "failed", **{name: self._secrets.hide(text) for name, text in failure.items()}}
