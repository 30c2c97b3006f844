"""What the agent can do."""

from langchain_core.tools import tool
from langgraph.types import interrupt


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


@tool
def send_message(text: str, to: str) -> str:
    """Sends a message, once a person has approved it."""
    # stops the run here; what it is resumed with is the answer
    approval = interrupt({"question": f'Send "{text}" to {to}?'})
    return f"sent to {to}" if approval == "yes" else f"not sent: {approval}"


tools = [get_weather, send_message]
