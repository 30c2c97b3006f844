"""Everything that an app does well, and some that it does badly."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from langgraph_sdk import get_client
from pydantic import BaseModel

client = get_client()
left = 0
hooks: list[dict] = []


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict]:
    late = APIRouter()

    @late.get("/custom/late")
    async def _late() -> str:
        return "added when it started"

    app.include_router(late)
    yield {"opened": "a pool"}
    file = os.environ.get("CLOSED_FILE")
    if file:
        Path(file).write_text("closed", encoding="utf8")


app = FastAPI(lifespan=lifespan)


@app.middleware("http")
async def around(request: Request, call_next) -> Response:
    if request.url.path.startswith("/threads") and request.headers.get("x-blocked"):
        return JSONResponse({"detail": "blocked by the app"}, 403)
    answer = await call_next(request)
    answer.headers["x-middleware"] = "around"
    return answer


class Item(BaseModel):
    name: str
    count: int


@app.get("/custom/hello")
async def hello(request: Request) -> dict:
    return {
        "host": request.headers["host"],
        "url": str(request.url),
        "internal": [name for name in request.headers if name.startswith("x-agentplane")],
        "opened": request.state.opened,
        "user": request.user.identity if "user" in request.scope else None,
    }


@app.post("/custom/items/{key}")
async def items(key: str, item: Item) -> dict:
    return {"key": key, **item.model_dump()}


@app.post("/assistants/count")
def count() -> int:
    return 42


@app.get("/ok")
async def ok() -> dict:
    return {"of": "the app"}


@app.post("/custom/echo")
async def echo(request: Request) -> StreamingResponse:
    return StreamingResponse(request.stream())


@app.post("/custom/hook")
async def hook(request: Request) -> Response:
    hooks.append({**await request.json(), "headers": dict(request.headers)})
    return Response(status_code=204)


@app.get("/custom/hooks")
async def all_hooks() -> list[dict]:
    return hooks


@app.get("/custom/client")
async def own() -> int:
    return await client.threads.count()


@app.get("/custom/left")
async def leavers() -> int:
    return left


@app.get("/custom/endless")
async def endless() -> StreamingResponse:
    async def pieces() -> AsyncIterator[bytes]:
        global left
        try:
            while True:
                yield b"x" * 65_536
        finally:
            left += 1

    return StreamingResponse(pieces())


@app.get("/custom/refuses")
async def refuses() -> None:
    raise HTTPException(418, "of the app")


@app.get("/custom/throw")
async def throw() -> None:
    raise ValueError("of the app: hunter2")


@app.get("/custom/short")
async def short() -> Response:
    return Response("four", headers={"content-length": "400"})


@app.get("/custom/split")
async def split() -> Response:
    return Response("a", headers={"x-a": "a\r\nset-cookie: x=1"})


@app.get("/custom/never")
async def never() -> None:
    await asyncio.Event().wait()


@app.get("/custom/die")
async def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.Event().wait()


@app.get("/custom/hang")
async def hang() -> None:
    while True:
        pass
