"""Sends a trace with OpenTelemetry, and one with langsmith's own export of it. Usage: send-spans.py URL KEY HOW PROJECT.

Prints what was sent as JSON.
"""

import json
import os
import sys

url, key, how, project = sys.argv[1:5]
if how == "langsmith":
    os.environ.update(
        LANGSMITH_TRACING="true",
        LANGSMITH_OTEL_ENABLED="true",
        LANGSMITH_OTEL_ONLY="true",
        LANGSMITH_ENDPOINT=url,
        LANGSMITH_API_KEY=key,
        LANGSMITH_PROJECT=project,
    )


def send_otel():
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    exporter = OTLPSpanExporter(
        endpoint=f"{url}/otel/v1/traces",
        headers={"x-api-key": key, "Langsmith-Project": project},
        compression=Compression.Gzip,
    )
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("shop")
    with tracer.start_as_current_span("agent") as root:
        with tracer.start_as_current_span("call") as child:
            child.set_attribute("gen_ai.operation.name", "chat")
            child.set_attribute("gen_ai.prompt.0.role", "user")
            child.set_attribute("gen_ai.prompt.0.content", "Grüezi 🙂")
            child.set_attribute("gen_ai.completion.0.content", "Hi")
            child.set_attribute("gen_ai.usage.input_tokens", 3)
            child.set_attribute("gen_ai.usage.output_tokens", 4)
        try:
            with tracer.start_as_current_span("failing"):
                raise ValueError("wrong")
        except ValueError:
            pass
    provider.shutdown()
    context = root.get_span_context()
    return {
        "trace": f"{context.trace_id:032x}",
        "root": f"{context.span_id:016x}",
        "child": f"{child.get_span_context().span_id:016x}",
        "start": root.start_time,
    }


def send_langsmith():
    from langsmith import Client, traceable
    from langsmith.run_helpers import get_current_run_tree

    client = Client()

    @traceable(run_type="llm", name="call", client=client, tags=["a", "b"], metadata={"ls_model_name": "m"})
    def call(text):
        return {"answer": text, "usage_metadata": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}}

    @traceable(run_type="chain", name="agent", client=client)
    def agent(text):
        call(text)
        return {"trace": str(get_current_run_tree().trace_id)}

    sent = agent("Grüezi")
    client.flush()
    if client.otel_exporter is not None:
        from opentelemetry import trace

        provider = trace.get_tracer_provider()
        if hasattr(provider, "force_flush"):
            provider.force_flush()
    return sent


print(json.dumps(send_otel() if how == "otel" else send_langsmith()))
