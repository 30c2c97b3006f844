from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


@asynccontextmanager
async def lifespan(app: Starlette):
    app.state.begun = True
    yield


async def hello(request):
    return JSONResponse({"begun": request.app.state.begun})


app = Starlette(routes=[Route("/hello", hello)], lifespan=lifespan)
