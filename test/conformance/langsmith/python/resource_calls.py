"""A call for each method of the resources of both clients (`client.runs` and so on)."""

import inspect
import uuid

from client_calls import ID
from world import same

BOX = "box"
CALLS = {}


def row(name):
    def add(do):
        CALLS[name] = do
        return do

    return add


def refused(name, /, *given, **named):
    async def do(w):
        return await read(w, name, *given, **named)

    CALLS[name] = do


async def read(w, name, /, *given, **named):
    """The answer of a method; of pages and streams everything."""
    method = w.client
    for part in name.split("."):
        method = getattr(method, part)
    found = method(*given, **named)
    if hasattr(found, "__aiter__"):
        return [one async for one in found]
    if inspect.isawaitable(found):
        found = await found
    if hasattr(found, "__aiter__"):
        return [one async for one in found]
    return list(found) if hasattr(found, "__next__") else found


def names(runs):
    return sorted(one.name for one in runs)


SELECTS = ["ID", "NAME"]


@row("runs.query")
async def _(w):
    assert names(await read(w, "runs.query", project_ids=[w.project_id], selects=SELECTS)) == ["agent", "model", "tool"]


@row("datasets.experiment_runs.query")
async def _(w):
    dataset, examples = w.dataset()
    project = w.client.create_project(w.name(), reference_dataset_id=dataset.id)
    for example in examples:
        w.stored(session_name=project.name, reference_example_id=example)
    of = {"dataset_id": str(dataset.id), "experiment_ids": [str(project.id)], "selects": SELECTS}
    found = await read(w, "datasets.experiment_runs.query", page_size=1, **of)
    assert [(one.id, names(one.runs)) for one in found] == [(example, ["sent"]) for example in examples]
    found = await read(w, "datasets.experiment_runs.query", example_ids=examples[1:], **of)
    assert [one.id for one in found] == examples[1:]


@row("runs.query_v2")
async def _(w):
    assert names(await read(w, "runs.query_v2", project_ids=[w.project_id], has_error=True, selects=SELECTS)) == ["tool"]


@row("runs.retrieve")
async def _(w):
    same(await read(w, "runs.retrieve", w.model, project_id=w.project_id, selects=SELECTS), {"name": "model"})


@row("runs.retrieve_v2")
async def _(w):
    same(await read(w, "runs.retrieve_v2", w.tool, project_id=w.project_id, selects=["ERROR"]), {"error": "Error: boom"})


@row("runs.get_url")
async def _(w):
    found = await read(w, "runs.get_url", w.tool, project_id=w.project_id, trace_id=w.root)
    assert found.url == f"{w.url}/o/{w.tenant}/projects/p/{w.project_id}/r/{w.tool}"


@row("traces.list_runs")
async def _(w):
    found = await read(w, "traces.list_runs", w.root, project_id=w.project_id, selects=SELECTS)
    assert names(found.items) == ["agent", "model", "tool"]


@row("traces.query")
async def _(w):
    [trace] = await read(w, "traces.query", project_id=w.project_id, selects=["NAME", "TOTAL_TOKENS"])
    assert (trace.root_run.name, trace.trace_aggregates.total_tokens) == ("agent", 7)


@row("threads.query")
async def _(w):
    assert [one.thread_id for one in await read(w, "threads.query", project_id=w.project_id)] == [w.thread]


@row("threads.list_traces")
async def _(w):
    found = await read(w, "threads.list_traces", w.thread, project_id=w.project_id, tree_filter="neq(error, null)")
    assert [one.trace_id for one in found] == [w.root]


@row("threads.stats")
async def _(w):
    found = await read(w, "threads.stats", w.thread, session_id=w.project_id, selects=["TURNS", "TOTAL_TOKENS"])
    assert (found.turns, found.total_tokens) == (1, 7)


def shared(w):
    run = w.stored()
    return run, w.client.share_run(run["id"]).split("/")[-2]


@row("runs.share.create")
async def _(w):
    run, token = shared(w)
    project = str(w.client.read_run(run["id"]).session_id)
    found = await read(w, "runs.share.create", run["id"], session_id=project, trace_id=run["id"])
    assert found.share_token == token


@row("runs.share.delete")
async def _(w):
    run, _ = shared(w)
    project = str(w.client.read_run(run["id"]).session_id)
    await read(w, "runs.share.delete", run["id"], session_id=project)
    assert not w.client.run_is_shared(run["id"])


@row("public.runs.query")
async def _(w):
    _, token = shared(w)
    assert names((await read(w, "public.runs.query", token, selects=SELECTS)).items) == ["sent"]


@row("public.runs.retrieve")
async def _(w):
    run, token = shared(w)
    given = {"share_token": token, "selects": ["NAME"], "start_time": run["start_time"]}
    same(await read(w, "public.runs.retrieve", run["id"], **given), {"name": "sent"})


@row("sessions.create")
async def _(w):
    name = w.name()
    same(await read(w, "sessions.create", name=name), {"name": name})


@row("sessions.retrieve")
async def _(w):
    same(await read(w, "sessions.retrieve", w.project_id, include_stats=True), {"name": w.project, "run_count": 1})


@row("sessions.update")
async def _(w):
    made = w.client.create_project(w.name())
    same(await read(w, "sessions.update", str(made.id), description="d"), {"description": "d"})


@row("sessions.delete")
async def _(w):
    name = w.name()
    await read(w, "sessions.delete", str(w.client.create_project(name).id))
    assert not w.client.has_project(name)


refused("sessions.create_v2", type="agent")
refused("sessions.list_v2")
refused("sessions.retrieve_v2", ID)
refused("sessions.update_v2", ID)
refused("sessions.dashboard", ID)
refused("sessions.resolve", kind="agent")
refused("threads.aggregate_stats", project_id=ID, select=["THREAD_COUNT"])
for _verb in ("create", "delete", "retrieve"):
    refused(f"threads.share.{_verb}", "t", project_id=ID)
for _name in ("runs.streaming.query_v2", "runs.streaming.query_v2_items"):
    refused(_name, project_ids=[ID])
for _name in ("threads.streaming.query", "threads.streaming.query_items"):
    refused(_name, project_id=ID)
for _name in ("traces.streaming.query", "traces.streaming.query_items"):
    refused(_name, project_id=ID)
refused("datasets.list_v2")
refused("datasets.examples.delete", ID, dataset_id=ID)
refused("datasets.examples.update_metadata", ID, example_ids=[ID], operations=[])
refused("agents.create", id="a")
refused("agents.delete", "a")
refused("agents.list")
refused("agents.retrieve", "a")
refused("agents.update", "a")

QUEUES = "annotation_queues"
refused(f"{QUEUES}.annotation_queues", name="q")
for _verb in ("create_run_status", "delete", "export", "retrieve", "retrieve_queues", "retrieve_size", "update"):
    refused(f"{QUEUES}.{_verb}", ID)
refused(f"{QUEUES}.populate", queue_id=ID, session_ids=[ID])
refused(f"{QUEUES}.retrieve_annotation_queues")
refused(f"{QUEUES}.retrieve_run", 0, queue_id=ID)
refused(f"{QUEUES}.retrieve_total_archived", ID)
refused(f"{QUEUES}.retrieve_total_size", ID)
refused(f"{QUEUES}.runs.create", ID, body=[ID])
refused(f"{QUEUES}.runs.create_by_key", ID, body=[])
refused(f"{QUEUES}.runs.delete_all", ID)
refused(f"{QUEUES}.runs.delete_queue", ID, queue_id=ID)
refused(f"{QUEUES}.runs.list", ID)
refused(f"{QUEUES}.runs.update", ID, queue_id=ID)
for _verb in ("create", "create_status", "delete_all"):
    refused(f"{QUEUES}.items.{_verb}", ID)
refused(f"{QUEUES}.items.clear_final", "k", queue_id=ID, item_id=ID)
refused(f"{QUEUES}.items.set_final", "k", queue_id=ID, item_id=ID, score=1)
refused(f"{QUEUES}.items.list", ID, status="completed")
refused(f"{QUEUES}.items.retrieve_count", ID, status="completed")
refused(f"{QUEUES}.items.retrieve_placement", ID, queue_id=ID)
refused(f"{QUEUES}.items.update", ID, queue_id=ID)

refused("evaluators.bulk_delete", evaluator_ids=[ID])
refused("evaluators.create")
refused("evaluators.delete", ID)
refused("evaluators.list")
refused("evaluators.retrieve", ID)
refused("evaluators.spend", period_start="2026-01-01")
refused("evaluators.update", ID)

BOXES = "sandboxes.boxes"
refused(f"{BOXES}.create")
refused(f"{BOXES}.batch_delete", names=[BOX])
refused(f"{BOXES}.create_snapshot", BOX, body_name="s")
for _verb in ("delete", "delete_service_url", "generate_service_url", "get_status", "list_service_urls"):
    refused(f"{BOXES}.{_verb}", BOX)
for _verb in ("retrieve", "start", "stop", "update"):
    refused(f"{BOXES}.{_verb}", BOX)
refused(f"{BOXES}.generate_download_url", BOX, path="/a")
refused(f"{BOXES}.list")
refused("sandboxes.list_usage_costs", start_time="2026-01-01T00:00:00Z", end_time="2026-01-02T00:00:00Z")
refused("sandboxes.retrieve_usage")
refused("sandboxes.registries.create", name=BOX, url="https://registry.invalid")
for _verb in ("delete", "retrieve", "update"):
    refused(f"sandboxes.registries.{_verb}", BOX)
refused("sandboxes.registries.list")
refused("sandboxes.snapshots.create", docker_image="i", fs_capacity_bytes=1, name=BOX)
refused("sandboxes.snapshots.delete", ID)
refused("sandboxes.snapshots.list")
refused("sandboxes.snapshots.retrieve", ID)
refused("sandboxes.snapshots.retrieve_by_name", BOX)
refused("sandboxes.volumes.clone", BOX, name="copy")
refused("sandboxes.volumes.create", name=BOX, size_bytes=1)
for _verb in ("delete", "retrieve", "update"):
    refused(f"sandboxes.volumes.{_verb}", BOX)
refused("sandboxes.volumes.list")
