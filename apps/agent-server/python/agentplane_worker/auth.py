"""An agent's own handlers (`langgraph_sdk.Auth`): they say who calls and what each caller may reach; the server enforces it."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import orjson

from .callers import Headers, request_of, scope_of, user_on_wire
from .logs import stack_text
from .modules import Export, ModuleRefused, load_export
from .process import Process, Public, failure_of
from .threads import Threads
from .user import User
from .wire import SecretWords, dumps, exact, json_text

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

    def __init__(self, exported: Any, what: str, threads: Threads, max_bytes: int) -> None:
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
        self._threads = threads
        self._max_bytes = max_bytes

    def describe(self) -> dict[str, Any]:
        """Which handlers there are, so that the server asks no other."""
        return {"authenticates": self._authenticate is not None, "events": list(self._handlers)}

    async def authenticate(self, asked: Mapping[str, Any]) -> Any:
        """The user, as JSON. Raises what the handler raises."""
        if self._authenticate is None:
            raise Public("bad_request", "the agent has no authentication handler")
        return user_on_wire(await self._call(self._authenticate, self._arguments(scope_of(asked))))

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
        before = Texts(value)
        if isinstance(value.get("namespace"), list):
            value["namespace"] = tuple(value["namespace"])
        studio = asked["isStudio"]
        user: Any = types.StudioUser(fields["identity"], is_authenticated=True) if studio else User(fields)
        context = types.AuthContext(
            permissions=fields.get("permissions") or [], user=user, resource=resource, action=action  # type: ignore[arg-type]
        )
        answer = await self._call(self._handlers[asked["handler"]], {"ctx": context, "value": value})
        if answer is not None and type(answer) not in (bool, dict):
            raise TypeError(f"it answered a {type(answer).__name__} that is no filter; answer nothing, True, False or a filter")
        exact(orjson.dumps(answer), "the filter")  # one that is no JSON cannot be applied
        left = before.left_of(value, self._max_bytes)
        return {"answer": answer, "left": left} if left else {"answer": answer}

    async def _call(self, handler: Handler, arguments: dict[str, Any]) -> Any:
        """One that is no coroutine may wait for something else: it does so in a thread."""
        if inspect.iscoroutinefunction(handler):
            return await handler(**arguments)
        call = partial(contextvars.copy_context().run, handler, **arguments)
        made = await asyncio.get_running_loop().run_in_executor(self._threads, call)
        return await made if isinstance(made, Awaitable) else made


class Texts:
    """The members of what is asked for, as they were before a handler. Those of `kwargs`, which has the input of a run,
    are compared one by one.
    """

    def __init__(self, value: Mapping[str, Any], nested: str | None = "kwargs") -> None:
        inner = value.get(nested) if nested else None
        self._nested = nested if isinstance(inner, dict) else None
        self._inner = Texts(inner, None) if isinstance(inner, dict) else None
        self._texts = {name: b"" if name == self._nested else dumps(one) for name, one in value.items()}

    def left_of(self, value: Mapping[str, Any], max_bytes: int) -> dict[str, Any] | None:
        """The members that a handler changed or took out; None where it left all as they were. Raises for what is no JSON,
        and Public for more than that.
        """
        left: dict[str, Any] = {"changed": {}, "removed": [name for name in self._texts if name not in value]}
        for name, one in value.items():
            if self._inner and name == self._nested and isinstance(one, dict):
                left["kwargs"] = self._inner.left_of(one, max_bytes)
                continue
            text = json_text(one)
            if text is None:
                raise TypeError(f"the handler left something in value.{name} that has no JSON form")
            if text == self._texts.get(name):
                continue
            require_short(text, max_bytes)
            left["changed"][name] = exact(text, f"value.{name}")
        return left if left["changed"] or left["removed"] or left.get("kwargs") else None


def require_short(text: bytes, max_bytes: int) -> None:
    """Raises Public for what the server would not read."""
    if len(text) > max_bytes:
        raise Public("too_large", f"The answer of the agent's handler has {len(text)} bytes; the limit is {max_bytes}")


class AuthProcess(Process):
    """One process with the handlers of an agent."""

    def __init__(self) -> None:
        super().__init__()
        self._auth: AgentAuth | None = None
        # of their own: names of hosts are looked up in the others
        self._handler_threads = Threads("handler")
        self._secrets = SecretWords([])
        self._max_bytes = 0

    async def load(self, order: dict[str, Any], folder: Path, secrets: SecretWords) -> None:
        self._secrets = secrets
        asked = order["module"]
        self.loads(asked["setting"], asked["file"])
        export = Export(f'"{asked["setting"]}" of langgraph.json', asked["file"], asked["exportName"])
        found = await load_export(export, folder)
        place = export.place.removeprefix(f"{folder}/")
        self._max_bytes = order["maxTextBytes"]
        what = f"{export.what}: {export.name} of {place}"
        self._auth = AgentAuth(found, what, self._handler_threads, self._max_bytes)

    async def answer(self, kind: str, question: dict[str, Any]) -> bytes:
        if self._auth is None:
            raise Public("unavailable", "The handlers are not loaded yet; retry")
        if kind == "handlers":
            return dumps(self._auth.describe())
        if kind not in ("authenticate", "authorize"):
            return await super().answer(kind, question)
        text = await self._judge(kind, question)
        require_short(text, self._max_bytes)
        return text

    async def _judge(self, kind: str, question: dict[str, Any]) -> bytes:
        assert self._auth is not None
        try:
            if kind == "authenticate":
                return dumps({"kind": "answered", "answer": await self._auth.authenticate(question)})
            return dumps({"kind": "answered", **await self._auth.authorize(question)})
        except (asyncio.CancelledError, Public):
            raise
        except BaseException as error:
            return dumps(self._thrown(error))

    def thread_report(self) -> dict[str, int]:
        """That of the threads which are worse off: coroutines hand what blocks to those of the loop."""
        reports = (self._handler_threads.report(), self.threads.report())
        return max(reports, key=lambda one: (one["givenUp"], one["waiting"]))

    def _thrown(self, error: BaseException) -> dict[str, Any]:
        """What a handler raised. Only a refusal in words of its own reaches a caller; the rest is for the log."""
        refusal = _refusal_of(error)
        if refusal:
            return refusal
        if _is_token_error(error):
            return {"kind": "token"}
        return {"kind": "failed", **failure_of(error, stack_text(error), self._secrets)}
