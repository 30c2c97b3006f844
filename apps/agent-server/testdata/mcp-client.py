"""Lists tools and calls two of them with the Python client of MCP, and prints what it saw as one JSON object."""

import asyncio
import json
import sys

from mcp import Client


async def main(url: str, revision: str) -> None:
    mode = revision if revision > "2025-11-25" else "legacy"
    arguments = {"messages": [{"role": "user", "content": "hello"}]}
    async with Client(url, mode=mode) as client:
        tools = await client.list_tools()
        answer = await client.call_tool("echo", arguments)
        failure = await client.call_tool("failing", arguments)
        seen = {
            "revision": client.session.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "text": answer.content[0].text,
            "error": failure.is_error,
        }
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
