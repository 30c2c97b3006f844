"""A caller is whoever the token names."""

from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
def authenticate(authorization: str | None) -> str:
    if not authorization:
        raise Auth.exceptions.HTTPException(401, "Show a token")
    return authorization.removeprefix("Bearer ")
