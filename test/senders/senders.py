"""One question to a model through a library that reports it: senders.py NAME. Prints the versions of the packages used."""

import os
import sys
from importlib.metadata import version

API, KEY, PROJECT, PROVIDER, THREAD = (
    os.environ[name] for name in ("API_URL", "API_KEY", "PROJECT", "PROVIDER", "THREAD")
)
QUESTION = [{"role": "user", "content": "Paris?"}]
CLAUDE, GPT = "claude-sonnet-4-5", "gpt-4o"
METADATA = {"thread_id": THREAD}
EXTRA = {"langsmith_extra": {"metadata": METADATA}}

os.environ.update(
    LANGSMITH_ENDPOINT=API,
    LANGSMITH_BASE_URL=API,
    LANGSMITH_API_KEY=KEY,
    LANGSMITH_PROJECT=PROJECT,
    LANGSMITH_TRACING="true",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{API}/otel/v1/traces",
    OTEL_EXPORTER_OTLP_HEADERS=f"x-api-key={KEY},Langsmith-Project={PROJECT}",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    OPENAI_API_KEY="none",
    OPENAI_BASE_URL=f"{PROVIDER}/v1",
    ANTHROPIC_API_KEY="none",
    ANTHROPIC_BASE_URL=PROVIDER,
)


def flush_langsmith():
    from langsmith import Client
    from langsmith.run_trees import get_cached_client

    get_cached_client().flush()
    Client().flush()


def exporting(**attributes):
    """A provider of tracers that exports, and puts these attributes on every span."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    class Attributing(SpanProcessor):
        def on_start(self, span, parent_context=None):
            span.set_attributes(attributes)

    provider = TracerProvider()
    provider.add_span_processor(Attributing())
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


def ask_openai(client, **more):
    return client.chat.completions.create(model=GPT, messages=QUESTION, **more)


def wrapped_openai():
    from langsmith.wrappers import wrap_openai
    from openai import OpenAI

    ask_openai(wrap_openai(OpenAI()), **EXTRA)
    flush_langsmith()


def wrapped_responses():
    from langsmith.wrappers import wrap_openai
    from openai import OpenAI

    wrap_openai(OpenAI()).responses.create(model=GPT, input="Paris?", **EXTRA)
    flush_langsmith()


def wrapped_anthropic():
    from anthropic import Anthropic
    from langsmith.wrappers import wrap_anthropic

    wrap_anthropic(Anthropic()).messages.create(model=CLAUDE, max_tokens=99, messages=QUESTION, **EXTRA)
    flush_langsmith()


def traceable_answer():
    from langsmith import traceable
    from langsmith.wrappers import wrap_openai
    from openai import OpenAI

    client = wrap_openai(OpenAI())

    @traceable
    def agent(question):
        return ask_openai(client)

    agent("Paris?", **EXTRA)
    flush_langsmith()


def langchain():
    from langchain_openai import ChatOpenAI

    ChatOpenAI(model=GPT).invoke("Paris?", {"metadata": METADATA})
    flush_langsmith()


def langchain_anthropic():
    from langchain_anthropic import ChatAnthropic

    ChatAnthropic(model=CLAUDE).invoke("Paris?", {"metadata": METADATA})
    flush_langsmith()


def langchain_agent():
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    create_agent(ChatOpenAI(model=GPT), []).invoke({"messages": QUESTION}, {"metadata": METADATA})
    flush_langsmith()


def litellm_traceable():
    import litellm
    from langsmith import traceable

    @traceable(run_type="llm", metadata={"ls_provider": "openai", "ls_model_name": GPT})
    def call(question):
        return litellm.completion(model=f"openai/{GPT}", messages=QUESTION)

    call("Paris?", **EXTRA)
    flush_langsmith()


def litellm_callback():
    import asyncio

    import litellm

    litellm.callbacks = ["langsmith"]
    os.environ["LANGSMITH_BATCH_SIZE"] = "1"

    async def call():
        await litellm.acompletion(model=f"openai/{GPT}", messages=QUESTION, metadata=METADATA)
        await asyncio.sleep(10)

    asyncio.run(call())


def pydantic_ai():
    from pydantic_ai import Agent, InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel

    provider = exporting()
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    Agent(OpenAIChatModel(GPT), name="helper").run_sync("Paris?", conversation_id=THREAD)
    provider.force_flush()


def logfire():
    import logfire
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel

    # it exports to the endpoint of the environment by itself
    logfire.configure(send_to_logfire=False, console=False)
    logfire.instrument_pydantic_ai()
    Agent(OpenAIChatModel(GPT), name="helper").run_sync("Paris?", conversation_id=THREAD)
    logfire.force_flush()


def openinference():
    from openai import OpenAI
    from openinference.instrumentation import using_session
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=exporting())
    with using_session(THREAD):
        ask_openai(OpenAI())


def openinference_langchain():
    from openinference.instrumentation import using_session
    from openinference.instrumentation.langchain import LangChainInstrumentor

    os.environ["LANGSMITH_TRACING"] = "false"
    LangChainInstrumentor().instrument(tracer_provider=exporting())
    with using_session(THREAD):
        langchain()


def openllmetry():
    from openai import OpenAI
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=exporting(**{"session.id": THREAD}))
    ask_openai(OpenAI())


def openai_agents():
    from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, set_trace_processors
    from langsmith.integrations.openai_agents_sdk import OpenAIAgentsTracingProcessor
    from openai import AsyncOpenAI

    set_trace_processors([OpenAIAgentsTracingProcessor()])
    agent = Agent(name="helper", model=OpenAIChatCompletionsModel(GPT, AsyncOpenAI()))
    Runner.run_sync(agent, "Paris?", run_config=RunConfig(group_id=THREAD))
    flush_langsmith()


def langchain_by_spans():
    os.environ["LANGSMITH_OTEL_ENABLED"] = os.environ["LANGSMITH_OTEL_ONLY"] = "true"
    provider = exporting()
    langchain()
    provider.force_flush()


SENDERS = {
    "wrap_openai": (wrapped_openai, "langsmith openai"),
    "wrap_openai, responses": (wrapped_responses, "langsmith openai"),
    "wrap_anthropic": (wrapped_anthropic, "langsmith anthropic"),
    "traceable that returns the answer": (traceable_answer, "langsmith openai"),
    "LangChain": (langchain, "langchain-core langchain-openai"),
    "LangChain, Anthropic": (langchain_anthropic, "langchain-core langchain-anthropic"),
    "LangChain, agent": (langchain_agent, "langchain langgraph"),
    "LangChain by spans": (langchain_by_spans, "langsmith opentelemetry-sdk"),
    "LiteLLM under traceable": (litellm_traceable, "litellm"),
    "LiteLLM, callback": (litellm_callback, "litellm"),
    "Pydantic AI": (pydantic_ai, "pydantic-ai-slim"),
    "logfire": (logfire, "logfire"),
    "OpenInference": (openinference, "openinference-instrumentation-openai"),
    "OpenInference, LangChain": (openinference_langchain, "openinference-instrumentation-langchain"),
    "OpenLLMetry": (openllmetry, "opentelemetry-instrumentation-openai"),
    "OpenAI Agents": (openai_agents, "openai-agents"),
}

send, packages = SENDERS[sys.argv[1]]
send()
print(", ".join(f"{name} {version(name)}" for name in packages.split()))
