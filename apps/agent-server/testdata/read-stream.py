"""Reads a run's stream with the Python SDK and prints one JSON line for each event: {id, event, data}."""

import asyncio
import json
import sys
import warnings

from langgraph_sdk import get_client

warnings.simplefilter("ignore")


async def main(url: str, thread_id: str, graph: str, options: str) -> None:
    client = get_client(url=url, api_key=None)
    async for part in client.runs.stream(thread_id or None, graph, **json.loads(options)):
        print(json.dumps({"id": part.id, "event": part.event, "data": part.data}), flush=True)


asyncio.run(main(*sys.argv[1:]))
