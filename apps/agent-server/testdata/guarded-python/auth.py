"""The handlers of `../guarded/auth.ts`, in Python: the same rows are checked against both."""

import asyncio
import json
import os
import re
import threading
import time
from dataclasses import dataclass

from langgraph_sdk import Auth

auth = Auth()


class InvalidTokenError(Exception):
    """As that of a library that verifies tokens."""


InvalidTokenError.__module__ = "jwt.exceptions"


@dataclass
class Tenant:
    identity: str
    id: int


class Sized:
    """As an object of a library that has a way of its own to be written."""

    def to_dict(self):
        return {"ids": [2**53]}


async def _special(token: str):
    """What each token is worth that is no person's."""
    match token:
        case "hang":
            await asyncio.Event().wait()
        case "compute":
            time.sleep(3600)
        case "die":
            os._exit(3)
        case "broken":
            raise ValueError("the secret of the identity provider is hunter2")
        case "expired":
            raise InvalidTokenError("Signature has expired")
        case "teapot":
            raise Auth.exceptions.HTTPException(418, "I am a teapot", {"x-tea": "green"})
        case "wordy":
            raise Auth.exceptions.HTTPException(403, {"code": 7})
        case "nobody":
            return {"permissions": []}
        case "no-subject":
            return ""
        case "odd-subject":
            return {"identity": {"sub": "x"}}
        case "nul-subject":
            return {"identity": "a\0b"}
        case "text":
            return "mallory"
        case "poser":
            return {"identity": "poser", "kind": "StudioUser"}
        case "large":
            return {"identity": "large", "tenant": {"id": 2**60 + 1}}
        case "rounded-class":
            return Tenant("large", 2**60 + 1)
        case "rounded-field":
            return {"identity": "large", "tenant": Tenant("tenant", 2**60 + 1)}
        case "rounded-other":
            return {"identity": "large", "tenant": Sized()}
        case "too-long":
            return {"identity": "large", "tenant": 2**70}
        case "exact":
            return {"identity": "exact", "tenant": 2**53 - 1, "is_open": True, "share": 0.5}
    return None


_OURS = ("hang", "compute", "die", "broken", "expired", "teapot", "wordy", "nobody", "text", "poser", "large", "exact")
_OURS += ("no-subject", "odd-subject", "nul-subject")
_OURS += ("rounded-class", "rounded-field", "rounded-other", "too-long")


@auth.authenticate
def authenticate(authorization: str | None, path: str, headers: dict[bytes, bytes]):
    # a plain function, which may answer a coroutine
    bearer = re.match("Bearer (.+)$", authorization or "")
    cookie = re.search("(?:^|; *)session=([^;]+)", headers.get(b"cookie", b"").decode())
    found = bearer or cookie
    if not found:
        raise Auth.exceptions.HTTPException(401, "Show a token", {"www-authenticate": "Bearer"})
    token = found[1]
    if token in _OURS:
        return _special(token)
    if token == "stuck":
        threading.Event().wait()
    if token == "unknown":
        return next(one for one in () if one)
    identity, _, permissions = token.partition(":")
    if "nostore" in permissions and path.startswith("/store"):
        raise Auth.exceptions.HTTPException(403, "No store")
    return {
        "identity": identity,
        "permissions": [one for one in permissions.split(",") if one],
        "secret": f"secret-of-{identity}",
        "team": "a",
        "lock": asyncio.Lock(),  # no JSON: it is left out
    }


def _edit(value: dict) -> None:
    """What a caller with the permission `edited` runs is changed in every way that is honoured."""
    kwargs = value["kwargs"]
    for message in (kwargs.get("input") or {}).get("messages", []):
        message["content"] = f"edited {message['content']}"
    value["kwargs"] = {
        "input": kwargs.get("input"),
        "config": {"configurable": {"tier": "gold"}, "recursion_limit": 20},
        "context": {"plan": "pro"},
    }
    value["metadata"] = {"tag": "edited"}


@auth.on
async def owned(ctx: Auth.types.AuthContext, value: dict):
    permissions = ctx.permissions
    if isinstance(ctx.user, Auth.types.StudioUser):
        return {}
    if "admin" in permissions or ("team" in permissions and ctx.resource == "threads"):
        return None
    if "hash" in permissions:
        hash(json.dumps(value, ensure_ascii=False).encode())
    if (ctx.resource, ctx.action) == ("threads", "create") and "threadless" in permissions:
        return False
    if (ctx.resource, ctx.action) == ("threads", "create_run"):
        if "idle" in permissions:
            return False
        if "edited" in permissions:
            _edit(value)
        if "flood" in permissions:
            value["metadata"] = {"tag": "a" * (130 << 20)}
    value.setdefault("metadata", {})["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}


@auth.on.crons.update
async def of_crons(ctx: Auth.types.AuthContext, value: dict):
    if "admin" in ctx.permissions or "crons" in ctx.permissions:
        return None
    if value.get("metadata"):
        value["metadata"]["owner"] = ctx.user["identity"]
    return {"owner": ctx.user["identity"]}


@auth.on.threads.delete
async def of_deletion(ctx: Auth.types.AuthContext, value: dict):
    return False if "keep" in ctx.permissions else {"owner": ctx.user.identity}


@auth.on.store
async def of_items(ctx: Auth.types.AuthContext, value: dict):
    if "admin" in ctx.permissions:
        return True
    namespace = value.get("namespace") or ()
    if not namespace or namespace[0] != ctx.user.identity:
        value["namespace"] = (ctx.user.identity, *namespace)
    return True


@auth.on.assistants.search
async def of_search(ctx: Auth.types.AuthContext, value: dict):
    if "odd" in ctx.permissions:
        return {"owner": {"$like": "a%"}}
    if "large" in ctx.permissions:
        return {"owner_id": 2**53 + 1}
    if "exact" in ctx.permissions:
        return {"owner_id": 2**53 - 1, "is_open": True, "share": 0.5}
    if "none" in ctx.permissions:
        return {"level": float("nan")}
    if "broken" in ctx.permissions:
        raise ValueError("the search handler broke")
    return {"owner": ctx.user.identity}
