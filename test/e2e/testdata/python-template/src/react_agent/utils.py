"""The model: one by rules in the place of a provider's."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable


class RuleModel(BaseChatModel):
    """Searches once, and says what came of it."""

    @property
    def _llm_type(self) -> str:
        return "rules"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        answer = (
            AIMessage(f"I found: {last.text}")
            if isinstance(last, ToolMessage)
            else AIMessage("", tool_calls=[{"id": f"call_{len(messages)}", "name": "search", "args": {"query": last.text}}])
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])


def load_chat_model(fully_specified_name: str) -> BaseChatModel:
    """Load a chat model by its name, as provider/model."""
    provider, _ = fully_specified_name.split("/", maxsplit=1)
    if provider != "rules":
        raise ValueError(f"no provider {provider}")
    return RuleModel()
