"""Sends a run with attachments and reads it back. Usage: attach.py URL KEY. Prints JSON of what was read."""

import base64
import json
import sys
import tempfile
import uuid
from datetime import datetime, timezone
from pathlib import Path

from langsmith import Client

client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
run_id = uuid.uuid4()
small = "é".encode()
large = bytes(range(256)) * 9_000
with tempfile.NamedTemporaryFile() as file:
    file.write(large)
    file.flush()
    now = datetime.now(timezone.utc)
    client.create_run(
        name="r",
        run_type="chain",
        inputs={},
        id=run_id,
        trace_id=run_id,
        dotted_order=now.strftime("%Y%m%dT%H%M%S%fZ") + str(run_id),
        start_time=now,
        project_name="python",
        attachments={"small": ("text/plain", small), "large": ("image/png", Path(file.name))},
        dangerously_allow_filesystem=True,
    )
    client.flush()


def read(run):
    return {
        name: [info["mime_type"], base64.b64encode(info["reader"].read()).decode()]
        for name, info in (run.attachments or {}).items()
    }


(listed,) = client.list_runs(project_name="python", run_ids=[run_id])
expected = {
    "small": ["text/plain", base64.b64encode(small).decode()],
    "large": ["image/png", base64.b64encode(large).decode()],
}
print(json.dumps({"read": read(client.read_run(run_id)) == expected, "listed": read(listed) == expected}))
