"""The long-term memory of the agent, kept by the server."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson
from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from .server import Server
from .wire import loads


def _labels(op: ListNamespacesOp, kind: str) -> list[str]:
    for condition in op.match_conditions or ():
        if condition.match_type == kind:
            return list(condition.path)
    return []


def _asked(op: Op) -> dict[str, Any]:
    match op:
        case GetOp():
            return {"op": "get", "namespace": op.namespace, "key": op.key, "refreshes": op.refresh_ttl}
        case SearchOp():
            return {
                "op": "search",
                "prefix": op.namespace_prefix,
                "filter": op.filter,
                "query": op.query,
                "limit": op.limit,
                "offset": op.offset,
                "refreshes": op.refresh_ttl,
            }
        case ListNamespacesOp():
            return {
                "op": "namespaces",
                "prefix": _labels(op, "prefix"),
                "suffix": _labels(op, "suffix"),
                "maxDepth": op.max_depth,
                "limit": op.limit,
                "offset": op.offset,
            }
        case PutOp(value=None):
            return {"op": "delete", "namespace": op.namespace, "key": op.key}
        case PutOp():
            ttl = {} if op.ttl is NOT_PROVIDED else {"ttl": op.ttl}
            return {
                "op": "put",
                "namespace": op.namespace,
                "key": op.key,
                "value": op.value,
                "index": op.index,
                **ttl,
            }
        case _:
            raise TypeError(f"the store knows no {type(op).__name__}")


def _item(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "value": found["value"],
        "key": found["key"],
        "namespace": tuple(found["namespace"]),
        "created_at": datetime.fromisoformat(found["createdAt"]),
        "updated_at": datetime.fromisoformat(found["updatedAt"]),
    }


def _result(op: Op, found: Any) -> Result:
    match op:
        case GetOp():
            return Item(**_item(found)) if found is not None else None
        case SearchOp():
            return [SearchItem(**_item(one), score=one.get("score")) for one in found]
        case ListNamespacesOp():
            return [tuple(one) for one in found]
        case _:
            return None


class ServerStore(BaseStore):
    """`runtime.store`, `get_store()` and the `store` argument of nodes."""

    supports_ttl = True

    def __init__(self, server: Server) -> None:
        self._server = server

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        all_of_them = list(ops)
        body = orjson.dumps([_asked(op) for op in all_of_them], option=orjson.OPT_NON_STR_KEYS)
        _, answer = await self._server.fetch("items", {}, body)
        return [_result(op, found) for op, found in zip(all_of_them, loads(answer), strict=True)]

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._server.wait(self.abatch(ops))
