"""Reads statistics with the langsmith client. Usage: read-statistics.py URL KEY PROJECT. Prints JSON."""

import json
import sys

from langsmith import Client

client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
name = sys.argv[3]
project = client.read_project(project_name=name, include_stats=True)
listed = [one for one in client.list_projects(name=name, include_stats=True)]
threads = client.list_threads(project_name=name)
print(
    json.dumps(
        {
            "stats": client.get_run_stats(project_names=[name], is_root=True),
            "project": [
                project.run_count,
                project.latency_p50.total_seconds(),
                project.total_tokens,
                project.error_rate,
                str(project.total_cost),
            ],
            "listed": [one.run_count for one in listed],
            "threads": sorted([one["thread_id"], one["count"]] for one in threads),
            "runs": [run.name for run in client.read_thread(thread_id="first", project_name=name)],
        }
    )
)
