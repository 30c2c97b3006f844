"""Gives, reads and removes feedback with the langsmith client. Usage: send-feedback.py URL KEY. Prints what it saw as JSON."""

import json
import logging
import sys
import uuid
import warnings

from langsmith import Client
from langsmith.run_trees import RunTree

logging.basicConfig(level=logging.WARNING)
# without session_id, which is deprecated
warnings.simplefilter("ignore")
client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
run = RunTree(name="judged", run_type="chain", inputs={}, project_name="python", client=client)
run.post()
run.end(outputs={})
run.patch()

# with its trace it is a part of a batch, else a request of its own
in_batch = client.create_feedback(run.id, "batch", score=0.12345, trace_id=run.id, comment="é", error=False)
client.flush()
alone = client.create_feedback(
    run.id,
    "alone",
    value={"label": "good"},
    correction={"a": 1},
    feedback_source_type="model",
    source_info={"judge": "x"},
    source_run_id=uuid.uuid4(),
    feedback_group_id=uuid.uuid4(),
    extra={"e": 1},
    extend_trace_retention=False,
    stop_after_attempt=1,
)
early = client.create_feedback(uuid.uuid4(), "early", score=True, stop_after_attempt=1)
session = client.read_project(project_name="python")
overall = client.create_feedback(key="overall", project_id=session.id, score=3, stop_after_attempt=1)
client.update_feedback(alone.id, score=1, value=None)
listed = list(client.list_feedback(run_ids=[run.id]))
models = list(client.list_feedback(run_ids=[run.id], feedback_key=["alone", "x"], feedback_source_type=["model"]))
client.delete_feedback(overall.id)
try:
    client.read_feedback(overall.id)
    found = True
except Exception as error:  # noqa: BLE001
    found = "not found" not in str(error)
token = client.create_presigned_feedback_token(run.id, "thumb")
client.create_feedback_from_token(token.url, score=1, comment="by token", metadata={"page": 1})
pair = client.create_presigned_feedback_tokens(run.id, ["a", "b"])
by_token = list(client.list_feedback(run_ids=[run.id], feedback_key=["thumb"]))
tokens = list(client.list_presigned_feedback_tokens(run.id))
read = client.read_feedback(alone.id)
stats = client.read_run(run.id).feedback_stats
json.dump(
    {
        "listed": sorted([one.key, one.score, str(one.session_id) == str(session.id)] for one in listed),
        "comment": client.read_feedback(in_batch.id).comment,
        "models": [one.key for one in models],
        "early": client.read_feedback(early.id).score,
        "read": [read.value, read.correction, read.extra, read.feedback_source.type],
        "group": read.feedback_group_id == alone.feedback_group_id,
        "found": found,
        "by_token": [[one.comment, one.feedback_source.metadata] for one in by_token],
        "tokens": [len(pair), len(tokens)],
        "stats": {key: value["n"] for key, value in stats.items()},
    },
    sys.stdout,
)
