"""The engine alone, as engine.mjs: `python engine.py RUNS` prints the CPU milliseconds of one run."""

import asyncio
import pathlib
import sys
import time

import orjson

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "agents" / "tokens"))

from graphs import tokens  # noqa: E402


async def one() -> None:
    size = 0
    given = {"messages": [{"role": "user", "content": "hello"}]}
    async for chunk in tokens.astream(given, stream_mode=["values", "messages"]):
        size += len(orjson.dumps(chunk, default=lambda value: value.model_dump()))
    assert size > 1_000


async def main(runs: int) -> None:
    for _ in range(20):
        await one()
    before = time.process_time()
    for _ in range(runs):
        await one()
    print((time.process_time() - before) * 1_000 / runs)


asyncio.run(main(int(sys.argv[1])))
