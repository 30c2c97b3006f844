from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def who(headers: dict) -> Auth.types.MinimalUserDict:
    return {"identity": headers.get(b"x-user-name", b"ann").decode(), "is_authenticated": True}


@auth.on.threads
async def own(ctx: Auth.types.AuthContext, value: dict) -> dict:
    value.setdefault("metadata", {})["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}
