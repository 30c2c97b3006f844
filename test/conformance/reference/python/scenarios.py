"""What the Python SDK gets from a server, as one JSON document: `python scenarios.py URL`."""

import asyncio
import json
import sys
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

HELLO = {"messages": [{"role": "user", "content": "hello", "id": "asked"}]}

Play = Callable[["Notes", LangGraphClient], Awaitable[None]]
SCENARIOS: dict[str, Play] = {}


class Notes:
    """What was answered, step by step."""

    def __init__(self) -> None:
        self.observations: list[dict[str, Any]] = []

    async def step(self, step: str, asked: Awaitable[Any]) -> Any:
        """Keeps what a call answers, or what it raises."""
        try:
            body = await asked
        except httpx.HTTPStatusError as error:
            body = {"raised": type(error).__name__, "status": error.response.status_code}
        except Exception as error:
            body = {"raised": type(error).__name__, "message": str(error)}
        self.observations.append({"step": step, "body": body})
        return body

    async def stream(self, step: str, parts: Any) -> list[Any]:
        """The same for the events of a stream."""
        events: list[dict[str, Any]] = []
        try:
            async for part in parts:
                events.append({"event": part.event, "data": part.data})
        except Exception as error:
            events.append({"event": "raised", "data": {"raised": type(error).__name__}})
        self.observations.append({"step": step, "events": events})
        return events


def scenario(name: str) -> Callable[[Play], Play]:
    def keep(play: Play) -> Play:
        SCENARIOS[f"Python SDK: {name}"] = play
        return play

    return keep


@scenario("assistants")
async def _assistants(notes: Notes, client: LangGraphClient) -> None:
    mark = {"mark": "sdk-assistants"}
    made = await notes.step("create", client.assistants.create("counter", metadata=mark, name="mine"))
    given = made["assistant_id"]
    await notes.step("get", client.assistants.get(given))
    await notes.step("search", client.assistants.search(metadata=mark))
    await notes.step("search by graph", client.assistants.search(graph_id="turning"))
    await notes.step("count", client.assistants.count(metadata=mark))
    await notes.step("graph", client.assistants.get_graph(given))
    await notes.step("graph, xray", client.assistants.get_graph(given, xray=2))
    await notes.step("subgraphs", client.assistants.get_subgraphs(given, recurse=True))
    await notes.step("update", client.assistants.update(given, name="yours"))
    await notes.step("versions", client.assistants.get_versions(given))
    await notes.step("set latest", client.assistants.set_latest(given, 1))
    await notes.step("delete", client.assistants.delete(given))
    await notes.step("get deleted", client.assistants.get(given))


@scenario("threads")
async def _threads(notes: Notes, client: LangGraphClient) -> None:
    mark = {"mark": "sdk-threads"}
    thread = await notes.step("create", client.threads.create(metadata=mark))
    given = thread["thread_id"]
    await notes.step("create again", client.threads.create(thread_id=given))
    await notes.step("create, do nothing", client.threads.create(thread_id=given, if_exists="do_nothing"))
    await notes.step("wait", client.runs.wait(given, "turning", input={"turn": "left"}))
    await notes.step("get", client.threads.get(given))
    await notes.step("update", client.threads.update(given, metadata={"more": 1}))
    await notes.step("search", client.threads.search(metadata=mark))
    await notes.step("search by status", client.threads.search(metadata=mark, status="idle"))
    await notes.step("search by values", client.threads.search(metadata=mark, values={"turn": "left"}))
    await notes.step("count", client.threads.count(metadata=mark))
    state = await notes.step("state", client.threads.get_state(given))
    await notes.step("state by checkpoint", client.threads.get_state(given, checkpoint=state["checkpoint"]))
    await notes.step("history", client.threads.get_history(given, limit=5))
    await notes.step("update state", client.threads.update_state(given, {"path": ["mine"]}, as_node="left"))
    await notes.step("state afterwards", client.threads.get_state(given))
    await notes.step("copy", client.threads.copy(given))
    await notes.step("delete", client.threads.delete(given))
    await notes.step("get deleted", client.threads.get(given))


@scenario("runs")
async def _runs(notes: Notes, client: LangGraphClient) -> None:
    given = (await client.threads.create())["thread_id"]
    run = await notes.step("create", client.runs.create(given, "slow", input={"waitMs": 200}, after_seconds=1))
    await notes.step("join", client.runs.join(given, run["run_id"]))
    await notes.step("get", client.runs.get(given, run["run_id"]))
    await notes.step("list", client.runs.list(given))
    await notes.step("wait without a thread", client.runs.wait(None, "sending", input={"words": ["a", "b"]}))
    await notes.step("wait for a failure", client.runs.wait(None, "failing", input=HELLO, raise_error=False))
    await notes.step("wait for a failure that is raised", client.runs.wait(None, "failing", input=HELLO))
    await notes.step("unknown assistant", client.runs.create(given, str(uuid.uuid4()), input={}))
    await notes.step("delete", client.runs.delete(given, run["run_id"]))


@scenario("streams")
async def _streams(notes: Notes, client: LangGraphClient) -> None:
    given = (await client.threads.create())["thread_id"]
    for mode in ("values", "updates", "messages-tuple", "custom", "tasks"):
        await notes.stream(mode, client.runs.stream(None, "talking", input=HELLO, stream_mode=mode))
    await notes.stream(
        "subgraphs", client.runs.stream(given, "housing", input=HELLO, stream_mode="updates", stream_subgraphs=True)
    )
    await notes.stream("failure", client.runs.stream(given, "failing", input=HELLO, stream_mode="updates"))
    run = await client.runs.create(given, "slow", input={"waitMs": 300}, stream_mode=["updates"], after_seconds=1)
    await notes.stream("join", client.runs.join_stream(given, run["run_id"], stream_mode="updates"))


@scenario("interrupts")
async def _interrupts(notes: Notes, client: LangGraphClient) -> None:
    given = (await client.threads.create())["thread_id"]
    await notes.step("wait", client.runs.wait(given, "approving", input={}))
    await notes.step("thread", client.threads.get(given))
    await notes.step("state", client.threads.get_state(given))
    await notes.step("resume", client.runs.wait(given, "approving", command={"resume": "yes"}))
    await notes.step("goto", client.runs.wait(given, "turning", command={"goto": "left", "update": {"turn": "x"}}))


@scenario("cancelling and strategies")
async def _strategies(notes: Notes, client: LangGraphClient) -> None:
    given = (await client.threads.create())["thread_id"]

    async def begun() -> str:
        run = await client.runs.create(given, "slow", input={"waitMs": 1_500})
        while (await client.runs.get(given, run["run_id"]))["status"] != "running":
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)
        return run["run_id"]

    run = await begun()
    await notes.step("reject", client.runs.create(given, "counter", input={}, multitask_strategy="reject"))
    await notes.step("cancel", client.runs.cancel(given, run, wait=True))
    await notes.step("cancelled", client.runs.get(given, run))
    run = await begun()
    await notes.step("interrupt", client.runs.wait(given, "counter", input={}, multitask_strategy="interrupt"))
    await notes.step("interrupted", client.runs.get(given, run))
    run = await begun()
    await notes.step("rollback", client.runs.wait(given, "counter", input={}, multitask_strategy="rollback"))
    await notes.step("rolled back", client.runs.get(given, run))


@scenario("store")
async def _store(notes: Notes, client: LangGraphClient) -> None:
    space = ("sdk", "store")
    await notes.step("put", client.store.put_item(space, "a", {"n": 1}))
    await notes.step("get", client.store.get_item(space, "a"))
    await notes.step("get unknown", client.store.get_item(space, "b"))
    await notes.step("search", client.store.search_items(space, filter={"n": 1}))
    await notes.step("namespaces", client.store.list_namespaces(prefix=["sdk"]))
    await notes.step("delete", client.store.delete_item(space, "a"))
    await notes.step("get deleted", client.store.get_item(space, "a"))


@scenario("crons")
async def _crons(notes: Notes, client: LangGraphClient) -> None:
    given = (await client.threads.create())["thread_id"]
    cron = await notes.step("create", client.crons.create_for_thread(given, "counter", schedule="5 4 1 1 *", input={}))
    await notes.step("search", client.crons.search(thread_id=given))
    await notes.step("count", client.crons.count(thread_id=given))
    await notes.step("delete", client.crons.delete(cron["cron_id"]))


async def _played(name: str, url: str) -> dict[str, Any]:
    notes, client = Notes(), get_client(url=url)
    try:
        await SCENARIOS[name](notes, client)
    except Exception as error:
        notes.observations.append({"step": "the scenario failed", "body": f"{type(error).__name__}: {error}"})
    return {"scenario": name, "observations": notes.observations}


async def main(url: str) -> None:
    print(json.dumps(await asyncio.gather(*(_played(name, url) for name in SCENARIOS))))


asyncio.run(main(sys.argv[1]))
