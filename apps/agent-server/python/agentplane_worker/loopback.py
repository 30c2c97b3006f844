"""The agent's own server, which `get_client()` of langgraph_sdk reaches without an address."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit


class OwnServer:
    """Where the server of this process is; known once that listens."""

    def __init__(self) -> None:
        self._url = ""
        self._waiting: list[asyncio.Future[None]] = []

    def serves(self, url: str) -> None:
        """It listens there. To be called in the loop of the process."""
        self._url = url
        for one in self._waiting:
            one.get_loop().call_soon_threadsafe(lambda one=one: one.done() or one.set_result(None))
        self._waiting = []

    async def url(self) -> str:
        """`http://host:port/prefix`"""
        if not self._url:
            known = asyncio.get_running_loop().create_future()
            self._waiting.append(known)
            await known
        return self._url


def lead_clients_to(server: OwnServer) -> None:
    """Has clients without an address, of the SDK that the agent has, reach this server; they stream as any others."""
    try:
        import httpx
        from langgraph_sdk._async import client
    except ImportError:
        return  # a version of the SDK without them

    class Transport(httpx.AsyncHTTPTransport):
        """For the address that a client has without one."""

        def __init__(self, app: Any = None, root_path: str = "", **_: Any) -> None:
            super().__init__(retries=2)
            self.app = app

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            own = urlsplit(await server.url())
            target = own.path.rstrip("/").encode() + request.url.raw_path
            request.url = request.url.copy_with(scheme=own.scheme, host=own.hostname, port=own.port, raw_path=target)
            request.headers["host"] = own.netloc
            return await super().handle_async_request(request)

    if hasattr(client, "get_asgi_transport"):
        client.get_asgi_transport = lambda: Transport
