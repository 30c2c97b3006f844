"""Sends runs with the langsmith client. Usage: send-runs.py URL KEY. Prints the id of each as it was sent."""

import logging
import sys

from langsmith import Client
from langsmith.run_trees import RunTree

logging.basicConfig(level=logging.WARNING)
client = Client(api_url=sys.argv[1], api_key=sys.argv[2])
for n in range(20):
    run = RunTree(name=f"r{n}", run_type="chain", inputs={"text": "é" * 50_000}, project_name="p", client=client)
    run.post()
    run.end(outputs={"n": n})
    run.patch()
    print(run.id)
client.flush()
