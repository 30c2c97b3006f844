"""Rows of the Python clients: `rows.py URL HEADERS` checks all of them and prints one JSON line for each, {name, error}.

The names stand in the code as @row("…") and nowhere else; python-rows.ts reads them from here.
"""

import asyncio
import json
import sys
import traceback
import uuid
import warnings

import httpx
from langgraph_sdk import get_client, get_sync_client

warnings.simplefilter("ignore")
URL, HEADERS = sys.argv[1], json.loads(sys.argv[2])
# the SDK takes it by another way than other headers
API_KEY = HEADERS.pop("x-api-key", None)
ROWS = []
HELLO = {"messages": [{"role": "user", "content": "hello"}]}
AT_ONCE = 5


def row(name):
    return lambda check: ROWS.append((name, check)) or check


def same(found, wanted):
    assert found == wanted, f"found {found!r}, wanted {wanted!r}"


async def refused(asked, status):
    try:
        await asked
    except httpx.HTTPStatusError as error:
        return same(error.response.status_code, status)
    raise AssertionError(f"nothing was refused with {status}")


async def collect(stream):
    return [part async for part in stream]


def data_of(parts, name):
    return [part.data for part in parts if part.event == name]


@row("keeps assistants with their versions")
async def _(client):
    made = await client.assistants.create("seeing", config={"configurable": {"word": "one"}}, name="first")
    key = made["assistant_id"]
    await client.assistants.update(key, config={"configurable": {"word": "two"}}, metadata={"a": 1})
    same([one["version"] for one in await client.assistants.get_versions(key)], [2, 1])
    await client.assistants.set_latest(key, 1)
    values = await client.runs.wait(None, key, input={})
    same(values["seen"]["word"], "one")
    await refused(client.assistants.create("seeing", assistant_id=key), 409)
    await client.assistants.delete(key)
    await refused(client.assistants.get(key), 404)


@row("searches and counts assistants")
async def _(client):
    metadata = {"mark": str(uuid.uuid4())}
    for name in "bca":
        await client.assistants.create("counter", name=name, metadata=metadata)
    found = await client.assistants.search(metadata=metadata, sort_by="name", sort_order="asc", select=["name"])
    same(found, [{"name": "a"}, {"name": "b"}, {"name": "c"}])
    same(await client.assistants.count(metadata=metadata), 3)
    page = await client.assistants.search(metadata=metadata, limit=2, response_format="object")
    same((len(page["assistants"]), page["next"]), (2, "2"))


@row("describes graphs")
async def _(client):
    graph = await client.assistants.get_graph("nested", xray=True)
    assert any("inner" in str(node["id"]) for node in graph["nodes"]), graph
    schemas = await client.assistants.get_schemas("counter")
    assert "steps" in schemas["state_schema"]["properties"], schemas
    same(list(await client.assistants.get_subgraphs("nested", recurse=True)), ["child"])


@row("keeps threads with metadata, status and time to live")
async def _(client):
    metadata = {"mark": str(uuid.uuid4())}
    made = await client.threads.create(metadata=metadata, ttl=60)
    key = made["thread_id"]
    same((await client.threads.get(key, include=["ttl"]))["ttl"]["ttl_minutes"], 60)
    same((await client.threads.update(key, metadata={"b": 2}))["metadata"], {**metadata, "b": 2})
    same(await client.threads.update(key, metadata={"c": 3}, return_minimal=True), None)
    found = await client.threads.search(metadata=metadata, select=["thread_id"], extract={"c": "metadata.c"})
    same(found, [{"thread_id": key, "extracted": {"c": 3}}])
    same(await client.threads.count(metadata=metadata, status="idle"), 1)
    await client.threads.copy(key)
    same(await client.threads.count(metadata=metadata), 2)
    same(await client.threads.prune([key]), {"pruned_count": 1})
    await refused(client.threads.get(key), 404)


@row("keeps states and their history")
async def _(client):
    key = (await client.threads.create())["thread_id"]
    for _ in range(2):
        await client.runs.wait(key, "counter", input={})
    state = await client.threads.get_state(key)
    same(state["values"]["steps"], ["step 1", "step 2"])
    history = await client.threads.get_history(key, limit=100)
    same(len(history), 6)
    before = await client.threads.get_history(key, limit=2, before=history[0]["checkpoint"])
    same([one["checkpoint"] for one in before], [one["checkpoint"] for one in history[1:3]])
    earlier = history[3]["checkpoint"]
    same((await client.threads.get_state(key, checkpoint=earlier))["values"]["steps"], ["step 1"])
    same((await client.threads.get_state(key, checkpoint_id=earlier["checkpoint_id"]))["checkpoint"], earlier)
    await client.threads.update_state(key, {"steps": ["by hand"]}, as_node="count")
    same((await client.threads.get_state(key))["values"]["steps"][-1], "by hand")


def stream_row(mode, graph, given, events, check):
    @row(f"streams {mode}")
    async def _(client):
        key = (await client.threads.create())["thread_id"]
        for thread in (key, None):
            parts = await collect(client.runs.stream(thread, graph, input=given, stream_mode=mode))
            same(parts[0].event, "metadata")
            same({part.event for part in parts[1:]}, set(events))
            check(parts)


def steps_of(parts):
    return [state["steps"] for state in data_of(parts, "values")][-1]


stream_row("values", "slow", {"waitMs": 1}, ["values"], lambda parts: same(steps_of(parts)[-1], "third"))
stream_row(
    *("updates", "counter", {}, ["updates"]),
    lambda parts: same(list(data_of(parts, "updates")[0]), ["count"]),
)
stream_row(
    *("messages-tuple", "echo", HELLO, ["messages"]),
    lambda parts: same("".join(chunk["content"] for chunk, _ in data_of(parts, "messages"))[1:3], ": "),
)
stream_row(
    *("messages", "echo", HELLO, ["messages/metadata", "messages/partial", "messages/complete"]),
    lambda parts: same(data_of(parts, "messages/partial")[-1][0]["content"][1:], ": hello"),
)
stream_row(
    *("custom", "ticking", {"count": 2, "waitMs": 1}, ["custom"]),
    lambda parts: same(data_of(parts, "custom"), [{"tick": 0}, {"tick": 1}]),
)
stream_row(
    *("debug", "counter", {}, ["debug"]),
    lambda parts: same({one["type"] for one in data_of(parts, "debug")}, {"checkpoint", "task", "task_result"}),
)
stream_row(
    *("events", "counter", {}, ["events"]),
    lambda parts: same(data_of(parts, "events")[0]["event"], "on_chain_start"),
)
stream_row(
    *("tools", "tooling", {}, ["tools"]),
    lambda parts: same([one["event"] for one in data_of(parts, "tools")][:2], ["on_tool_start", "on_tool_end"]),
)
stream_row(
    *("tasks", "counter", {}, ["tasks"]),
    lambda parts: same([one["name"] for one in data_of(parts, "tasks")], ["count", "count"]),
)
stream_row(
    *("checkpoints", "counter", {}, ["checkpoints"]),
    lambda parts: same(data_of(parts, "checkpoints")[-1]["next"], []),
)


def strategy_row(strategy, name, check):
    @row(name)
    async def _(client):
        key = (await client.threads.create())["thread_id"]
        wait = 20 if strategy == "enqueue" else 60_000
        first = (await client.runs.create(key, "slow", input={"waitMs": wait}))["run_id"]
        asked = client.runs.wait(key, "counter", input={}, multitask_strategy=strategy)
        await check(client, key, first, asked)


@lambda check: strategy_row("enqueue", "queues a run behind the one at work", check)
async def _(client, key, first, asked):
    same((await asked)["steps"], ["first", "second", "third", "step 4"])


@lambda check: strategy_row("reject", "refuses a run with 409 while another is at work", check)
async def _(client, key, first, asked):
    await refused(asked, 409)
    await client.runs.cancel(key, first, wait=True)


@lambda check: strategy_row("interrupt", "interrupts the run at work", check)
async def _(client, key, first, asked):
    same((await asked)["steps"], ["step 1"])
    same((await client.runs.get(key, first))["status"], "interrupted")


@lambda check: strategy_row("rollback", "removes the run at work", check)
async def _(client, key, first, asked):
    same((await asked)["steps"], ["step 1"])
    await refused(client.runs.get(key, first), 404)


@row("stops for a question and goes on with the answer")
async def _(client):
    key = (await client.threads.create())["thread_id"]
    asked = await client.runs.wait(key, "asking", input=HELLO)
    same(asked["__interrupt__"][0]["value"], "Which colour?")
    same((await client.threads.get(key))["status"], "interrupted")
    done = await client.runs.wait(key, "asking", command={"resume": "red"})
    same(done["messages"][-1]["content"], "painted red")


@row("creates a thread by supersteps, or none")
async def _(client):
    first = {"updates": [{"values": {"steps": ["given"], "waitMs": 0}, "as_node": "__start__"}]}
    then = {"updates": [{"values": {"steps": ["first"]}, "as_node": "first"}]}
    key = (await client.threads.create(graph_id="slow", supersteps=[first, then]))["thread_id"]
    same((await client.threads.get_state(key))["next"], ["second"])
    same((await client.runs.wait(key, "slow", input=None))["steps"], ["given", "first", "second", "third"])
    key = str(uuid.uuid4())
    wrong = {"updates": [{"values": {"steps": ["x"]}, "as_node": "nowhere"}]}
    await refused(client.threads.create(thread_id=key, graph_id="slow", supersteps=[first, wrong]), 400)
    await refused(client.threads.get(key), 404)


@row("ranks items by meaning")
async def _(client):
    root = str(uuid.uuid4())
    for word in ("banana", "cherry", "xylophone"):
        await client.store.put_item([root], word, {"word": word})
    await client.store.put_item([root], "unread", {"word": "anna"}, index=False)
    found = await client.store.search_items([root], query="nab", limit=2)
    same(found["items"][0]["key"], "banana")
    assert 0 < found["items"][0]["score"] <= 1, found


@row("raises the error of a run that fails")
async def _(client):
    key = (await client.threads.create())["thread_id"]
    try:
        await client.runs.wait(key, "failing", input=HELLO)
    except Exception as error:  # the SDK raises a plain Exception
        same(str(error), "RangeError: the node gave up")
    else:
        raise AssertionError("nothing was raised")
    parts = await collect(client.runs.stream(key, "failing", input=HELLO))
    same((parts[-1].event, parts[-1].data["message"]), ("error", "the node gave up"))


@row("starts, lists, joins and deletes runs")
async def _(client):
    key = (await client.threads.create())["thread_id"]
    made = await client.runs.create(key, "counter", input={}, metadata={"a": 1}, durability="sync")
    same((await client.runs.join(key, made["run_id"]))["steps"], ["step 1"])
    same([one["run_id"] for one in await client.runs.list(key, status="success")], [made["run_id"]])
    later = await client.runs.create(key, "counter", input={}, after_seconds=1_000)
    await client.runs.cancel_many(thread_id=key, run_ids=[later["run_id"]])
    same((await client.runs.get(key, later["run_id"]))["status"], "interrupted")
    await client.runs.delete(key, made["run_id"])
    await refused(client.runs.get(key, made["run_id"]), 404)
    batch = await client.runs.create_batch([{"assistant_id": "counter", "input": {}}] * 2)
    same(len({one["run_id"] for one in batch}), 2)


@row("joins the stream of a run, also by the id of an event")
async def _(client):
    key = (await client.threads.create())["thread_id"]
    given = {"count": 5, "waitMs": 20}
    made = await client.runs.create(key, "ticking", input=given, stream_mode=["custom"], stream_resumable=True)
    parts = await collect(client.runs.join_stream(key, made["run_id"], last_event_id="-1"))
    same([tick["tick"] for tick in data_of(parts, "custom")], [0, 1, 2, 3, 4])
    rest = await collect(client.runs.join_stream(key, made["run_id"], last_event_id=parts[3].id))
    same([tick["tick"] for tick in data_of(rest, "custom")], [3, 4])


@row("joins the stream of a thread")
async def _(client):
    key = (await client.threads.create())["thread_id"]
    heard = []

    async def read():
        async for part in await client.threads.join_stream(key, stream_mode="lifecycle"):
            heard.append(part)

    reading = asyncio.create_task(read())
    for _ in range(100):
        await client.runs.wait(key, "counter", input={})
        if any(isinstance(part.data, dict) and part.data.get("status") == "run_done" for part in heard):
            break
        if reading.done():
            raise AssertionError(f"the stream ended: {reading.exception()!r}")
    else:
        raise AssertionError(f"heard {heard!r}")
    reading.cancel()


@row("follows a thread by the thread stream protocol")
async def _(client):
    async with client.threads.stream(assistant_id="echo") as thread:
        await thread.run.start(input=HELLO)
        output = await thread.output
        same([message["content"] for message in output["messages"]][0], "hello")


@row("keeps crons")
async def _(client):
    made = await client.crons.create("counter", schedule="0 9 * * *", input={}, metadata={"a": 1})
    key = made["cron_id"]
    changed = await client.crons.update(key, schedule="0 10 * * *", enabled=False)
    same((changed["schedule"], changed["enabled"], changed["next_run_date"]), ("0 10 * * *", False, None))
    same((await client.crons.update(key, enabled=True))["next_run_date"][10:16], "T10:00")
    await client.crons.delete(key)
    await refused(client.crons.delete(key), 404)
    thread = (await client.threads.create())["thread_id"]
    await client.crons.create_for_thread(thread, "counter", schedule="@daily")
    same(len(await client.crons.search(thread_id=thread)), 1)
    same(await client.crons.count(thread_id=thread), 1)
    await client.threads.delete(thread)


@row("keeps items of the store")
async def _(client):
    root = str(uuid.uuid4())
    await client.store.put_item([root, "a"], "one", {"n": 1})
    await client.store.put_item([root, "b"], "two", {"n": 2}, ttl=60)
    same((await client.store.get_item([root, "a"], "one"))["value"], {"n": 1})
    found = await client.store.search_items([root], filter={"n": {"$gt": 1}})
    same([item["key"] for item in found["items"]], ["two"])
    spaces = await client.store.list_namespaces(prefix=[root])
    same(sorted(space[1] for space in spaces["namespaces"]), ["a", "b"])
    await client.store.delete_item([root, "a"], "one")
    same(await client.store.get_item([root, "a"], "one"), None)


@row("answers the blocking client as well")
async def _(client):
    def ask():
        blocking = get_sync_client(url=URL, api_key=API_KEY, headers=HEADERS)
        key = blocking.threads.create()["thread_id"]
        same(blocking.runs.wait(key, "counter", input={})["steps"], ["step 1"])
        parts = list(blocking.runs.stream(key, "counter", input={}, stream_mode="updates"))
        same([part.event for part in parts], ["metadata", "updates"])

    await asyncio.to_thread(ask)


def remote(graph):
    from langgraph.pregel.remote import RemoteGraph

    client = get_client(url=URL, api_key=API_KEY, headers=HEADERS)
    blocking = get_sync_client(url=URL, api_key=API_KEY, headers=HEADERS)
    return RemoteGraph(graph, client=client, sync_client=blocking)


async def on_thread(client):
    return {"configurable": {"thread_id": (await client.threads.create())["thread_id"]}}


@row("RemoteGraph invokes a graph on a thread and without one")
async def _(client):
    graph, config = remote("counter"), await on_thread(client)
    same((await graph.ainvoke({}))["steps"], ["step 1"])
    await graph.ainvoke({}, config)
    same((await graph.ainvoke({}, config))["steps"], ["step 1", "step 2"])
    same((await asyncio.to_thread(graph.invoke, {}, config))["steps"][-1], "step 3")


@row("RemoteGraph streams modes and pairs of them")
async def _(client):
    graph, config = remote("counter"), await on_thread(client)
    same([part async for part in graph.astream({}, config, stream_mode="updates")], [{"count": {"steps": ["step 1"]}}])
    pairs = [part async for part in graph.astream({}, config, stream_mode=["values", "updates"])]
    same({pair[0] for pair in pairs}, {"values", "updates"})


@row("RemoteGraph reads and changes states")
async def _(client):
    graph, config = remote("counter"), await on_thread(client)
    await graph.ainvoke({}, config)
    state = await graph.aget_state(config)
    same((state.values["steps"], state.next), (["step 1"], ()))
    same(len([one async for one in graph.aget_state_history(config)]), 3)
    await graph.aupdate_state(config, {"steps": ["by hand"]}, as_node="count")
    same((await graph.aget_state(config)).values["steps"][-1], "by hand")
    await graph.aget_state(state.config)
    drawn = await remote("nested").aget_graph(xray=True)
    assert drawn.nodes, drawn


@row("RemoteGraph stops for a question and goes on with a command")
async def _(client):
    from langgraph.types import Command

    graph, config = remote("asking"), await on_thread(client)
    asked = await graph.ainvoke(HELLO, config)
    same(asked["__interrupt__"][0]["value"], "Which colour?")
    same((await graph.aget_state(config)).next, ("ask",))
    done = await graph.ainvoke(Command(resume="red"), config)
    same(done["messages"][-1]["content"], "painted red")


async def check(name, judge, turns):
    async with turns:
        client = get_client(url=URL, api_key=API_KEY, headers=HEADERS)
        try:
            await asyncio.wait_for(judge(client), 45)
            error = None
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"name": name, "error": error}), flush=True)


async def main():
    turns = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*(check(name, judge, turns) for name, judge in ROWS))


if __name__ == "__main__":
    asyncio.run(main())
