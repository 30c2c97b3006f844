"""An app of no framework: it gets what the server has no route for."""

import json


async def app(scope, receive, send) -> None:
    assert scope["type"] == "http"  # it has no lifespan
    if scope["path"] == "/nothing":
        return
    if scope["path"] == "/throw":
        raise ValueError("of the app")
    if scope["path"] == "/broken":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"piece", "more_body": True})
        raise ValueError("broken in the middle")
    body = json.dumps({"path": scope["path"], "user": scope["user"].identity}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body})
