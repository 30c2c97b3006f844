"""An agent of `create_agent` with a tool, over a model that needs no network."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool


class Adviser(BaseChatModel):
    """Asks for the weather, and says what to wear."""

    @property
    def _llm_type(self) -> str:
        return "adviser"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            message = AIMessage(f"Take a coat: {last.text}", id="advice")
        else:
            call = {"name": "weather", "args": {"town": "Oslo"}, "id": "call-1"}
            message = AIMessage("", tool_calls=[call], id="question")
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def weather(town: str) -> str:
    """Says what the weather is."""
    return f"rain in {town}"


advising = create_agent(Adviser(), [weather], system_prompt="Be brief.")
