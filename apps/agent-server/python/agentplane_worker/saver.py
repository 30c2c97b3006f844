"""Checkpoints of threads, read and written through the server."""

from __future__ import annotations

import base64
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import orjson
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from .serializer import StateSerializer
from .server import Server
from .wire import loads

_PAGE = 8

#: Releases before langgraph-checkpoint 2.1 keep tasks that wait in the checkpoint, later ones in a channel.
_SENDS = "pending_sends"


def _place(config: RunnableConfig) -> dict[str, Any]:
    configurable = config.get("configurable", {})
    place = {"threadId": str(configurable["thread_id"]), "namespace": configurable.get("checkpoint_ns") or ""}
    checkpoint_id = configurable.get("checkpoint_id")
    return {**place, "checkpointId": checkpoint_id} if checkpoint_id else place


def _config(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
    }


class ServerSaver(BaseCheckpointSaver[float]):
    """The checkpointer of one attempt of a run, or of one question about a thread."""

    def __init__(
        self,
        server: Server,
        *,
        run: int | None = None,
        thread_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        empty_thread: bool = False,
    ) -> None:
        """
        :param run: number of the run that writes; without one, `thread_id` alone is read and written
        :param metadata: recorded with every checkpoint
        :param empty_thread: the thread had no checkpoint before this attempt: only what it writes is looked for
        """
        super().__init__(serde=StateSerializer())
        self._server = server
        self._run = run
        self._thread_id = thread_id
        self._metadata = metadata or {}
        self._empty_thread = empty_thread
        #: Namespaces that this saver has written to.
        self.written: set[str] = set()

    def get_next_version(self, current: float | None, channel: None = None) -> float:
        # versions name stored values: two branches of a thread never make the same one
        return int(current or 0) + 1 + random.random()

    def _asked(self, place: dict[str, Any]) -> dict[str, Any]:
        thread_id = place["threadId"]
        if self._run is None and thread_id != self._thread_id:
            raise ValueError(f"checkpoints of thread {self._thread_id}: thread {thread_id} was asked for")
        return place if self._run is None else {**place, "run": self._run}

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        place = _place(config)
        if (
            self._empty_thread
            and place["threadId"] == self._thread_id
            and "checkpointId" not in place
            and place["namespace"] not in self.written
        ):
            return None
        head, body = await self._server.fetch("get-checkpoint", self._asked(place))
        tuples = self._tuples(place["threadId"], head, body)
        return tuples[0] if tuples else None

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        """In one request; the public one reads each ancestor by itself."""
        place = _place(config)
        asked = {**self._asked(place), "channels": [*channels]}
        head, body = await self._server.fetch("delta-history", asked)
        histories: dict[str, dict[str, Any]] = {channel: {"writes": []} for channel in channels}
        at = 0
        for part in head["parts"]:
            value = self.serde.loads_typed((part["type"], body[at : at + part["bytes"]]))
            at += part["bytes"]
            history = histories[part["channel"]]
            if part["taskId"] is None:
                history["seed"] = value
            else:
                history["writes"].append((part["taskId"], part["channel"], value))
        return histories

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        if config is None:
            raise ValueError("checkpoints are listed by thread")
        place = _place(config)
        before_id = (before or {}).get("configurable", {}).get("checkpoint_id")
        left = limit
        while left is None or left > 0:
            asked = self._asked(place) | {
                "filter": filter or {},
                "limit": _PAGE if left is None else min(_PAGE, left),
                **({"beforeId": before_id} if before_id else {}),
            }
            head, body = await self._server.fetch("list-checkpoints", asked)
            found = self._tuples(place["threadId"], head, body)
            for one in found:
                yield one
            if len(found) < asked["limit"]:
                return
            before_id = found[-1].config["configurable"]["checkpoint_id"]
            left = None if left is None else left - len(found)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        place = _place(config)
        values = checkpoint["channel_values"]
        rest: dict[str, Any] = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        if rest.get(_SENDS):
            kind, data = self.serde.dumps_typed(rest[_SENDS])
            rest[_SENDS] = [kind, base64.b64encode(data).decode()]
        blobs: list[dict[str, Any]] = []
        parts: list[bytes] = [orjson.dumps(rest), self._recorded(metadata)]
        for channel, version in new_versions.items():
            kind, data = self.serde.dumps_typed(values[channel]) if channel in values else ("empty", b"")
            blobs.append({"channel": channel, "version": _version_text(version), "type": kind, "bytes": len(data)})
            parts.append(bytes(data))
        asked = {
            "threadId": place["threadId"],
            "namespace": place["namespace"],
            "checkpointId": checkpoint["id"],
            "checkpointBytes": len(parts[0]),
            "metadataBytes": len(parts[1]),
            "blobs": blobs,
            **({"parentId": place["checkpointId"]} if "checkpointId" in place else {}),
        }
        await self._server.fetch("put-checkpoint", self._asked(asked), b"".join(parts))
        self.written.add(place["namespace"])
        return _config(place["threadId"], place["namespace"], checkpoint["id"])

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        place = _place(config)
        dumped = [self.serde.dumps_typed(value) for _, value in writes]
        asked = {
            "checkpointId": "",
            **place,
            "taskId": task_id,
            "taskPath": task_path,
            "replaces": all(channel in WRITES_IDX_MAP for channel, _ in writes),
            "writes": [
                {"idx": WRITES_IDX_MAP.get(channel, index), "channel": channel, "type": kind, "bytes": len(data)}
                for index, ((channel, _), (kind, data)) in enumerate(zip(writes, dumped, strict=True))
            ],
        }
        await self._server.fetch("put-writes", self._asked(asked), b"".join(bytes(data) for _, data in dumped))
        self.written.add(place["namespace"])

    def _recorded(self, metadata: CheckpointMetadata) -> bytes:
        return orjson.dumps({**self._metadata, **metadata}, option=orjson.OPT_NON_STR_KEYS, default=str)

    def _tuples(self, thread_id: str, head: dict[str, Any], body: bytes) -> list[CheckpointTuple]:
        found: list[CheckpointTuple] = []
        at = 0

        def take(count: int) -> bytes:
            nonlocal at
            at += count
            return body[at - count : at]

        for one in head["tuples"]:
            checkpoint = loads(take(one["checkpointBytes"]))
            if checkpoint.get(_SENDS):
                kind, text = checkpoint[_SENDS]
                checkpoint[_SENDS] = self.serde.loads_typed((kind, base64.b64decode(text)))
            metadata = loads(take(one["metadataBytes"]))
            values = {
                blob["channel"]: self.serde.loads_typed((blob["type"], take(blob["bytes"])))
                for blob in one["blobs"]
                if blob["type"] != "empty"
            }
            writes = [
                (write["taskId"], write["channel"], self.serde.loads_typed((write["type"], take(write["bytes"]))))
                for write in one["writes"]
            ]
            namespace, parent_id = one["namespace"], one["parentId"]
            found.append(
                CheckpointTuple(
                    config=_config(thread_id, namespace, one["checkpointId"]),
                    checkpoint={**checkpoint, "channel_values": values},
                    metadata=metadata,
                    parent_config=_config(thread_id, namespace, parent_id) if parent_id else None,
                    pending_writes=writes,
                )
            )
        return found

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._server.wait(self.aget_tuple(config))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        return self._server.wait(self.aget_delta_channel_history(config=config, channels=channels))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        async def all_of_it() -> list[CheckpointTuple]:
            return [one async for one in self.alist(config, filter=filter, before=before, limit=limit)]

        yield from self._server.wait(all_of_it())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self._server.wait(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self._server.wait(self.aput_writes(config, writes, task_id, task_path))


def _version_text(version: str | int | float) -> str:
    """As it stands in the JSON of the checkpoint, by which stored values are found."""
    return version if isinstance(version, str) else orjson.dumps(version).decode()
