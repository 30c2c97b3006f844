"""Sends a trace with calls of models and reads back what it cost. Usage: send-costs.py URL KEY PROJECT"""

import json
import sys
import time

from langsmith import Client
from langsmith.run_trees import RunTree

client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
root = RunTree(name="agent", run_type="chain", inputs={"q": 1}, project_name=sys.argv[3], client=client)
root.post()
for n in range(2):
    child = root.create_child(
        name="model",
        run_type="llm",
        inputs={"messages": []},
        extra={"metadata": {"ls_model_name": "gpt-4o-mini-2024-07-18", "ls_provider": "openai"}},
    )
    child.post()
    usage = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100, "input_token_details": {"cache_read": 400}}
    child.end(outputs={"usage_metadata": usage})
    child.patch()
root.end(outputs={"a": 1})
root.patch()
client.flush()
for _ in range(100):
    found = list(client.list_runs(project_name=sys.argv[3], trace_id=root.trace_id))
    if len(found) == 3 and all(run.end_time for run in found):
        break
    time.sleep(0.1)
costs = {"chain": [], "llm": []}
for run in found:
    costs[run.run_type].append([str(run.prompt_cost), str(run.completion_cost), str(run.total_cost)])
llm = client.read_run(next(run.id for run in found if run.run_type == "llm"))
stats = client.get_run_stats(project_names=[sys.argv[3]], is_root=True)
project = client.read_project(project_name=sys.argv[3], include_stats=True)
print(
    json.dumps(
        {
            "costs": costs,
            "details": {name: str(value) for name, value in (llm.prompt_cost_details or {}).items()},
            "stats": str(stats["total_cost"]),
            "project": str(project.total_cost),
        }
    )
)
