"""The app of `../agent/app.ts`: it gets what the server has no route for."""

import json

from langgraph_sdk import get_client

client = get_client()


async def _body(receive) -> bytes:
    pieces = b""
    while True:
        message = await receive()
        pieces += message.get("body", b"")
        if not message.get("more_body"):
            return pieces


async def app(scope, receive, send) -> None:
    assert scope["type"] == "http"

    async def answer(status: int, body: bytes = b"", *headers: tuple[bytes, bytes]) -> None:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        await send({"type": "http.response.body", "body": body})

    is_json = (b"content-type", b"application/json")
    match scope["path"]:
        case "/custom/echo":
            await answer(200, await _body(receive), (b"x-app", scope["method"].encode()))
        case "/custom/hook":
            run = json.loads(await _body(receive))
            await client.store.put_item(["hooks"], run["run_id"], {"values": run["values"]})
            await answer(204)
        case "/custom/run":
            values = await client.runs.wait(None, "counter", input={})
            await answer(200, json.dumps(values).encode(), is_json)
        case _:
            await answer(404, b'{"detail": "Not found"}', is_json)
