"""Sends the recorded workload with the OTLP exporter of OpenTelemetry. Usage: send-workload.py URL KEY PROJECT.

Prints JSON: how each batch was exported, and what the exporter logged.
"""

import json
import logging
import sys
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode

url, key, project = sys.argv[1:4]
workload = json.loads(Path(__file__).with_name("workload.json").read_text(encoding="utf-8"))
# 2025-11-20T12:00:00Z
BASE_NS = 1_763_640_000_000_000_000
SPANS_OF_BATCH = 3
KINDS = {"client": SpanKind.CLIENT}


class Logged(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


class RecordedIds(IdGenerator):
    """The next span gets the ids that it was recorded with."""

    trace_id = ""
    span_id = ""

    def generate_trace_id(self):
        return int(self.trace_id, 16)

    def generate_span_id(self):
        return int(self.span_id, 16)


class NotingExporter(OTLPSpanExporter):
    """Notes what became of each batch."""

    def __init__(self, **given):
        self.results = []
        super().__init__(**given)

    def export(self, spans):
        result = super().export(spans)
        self.results.append({"spans": len(spans), "result": result.name})
        return result


def send(tracer, ids, spans):
    begun = {}
    for span in spans:
        ids.span_id = span["id"]
        parent = begun.get(span.get("parent"))
        links = [
            Link(SpanContext(int(link["traceId"], 16), int(link["spanId"], 16), False), link["attributes"])
            for link in span.get("links", [])
        ]
        begun[span["id"]] = tracer.start_span(
            span["name"],
            context=trace.set_span_in_context(parent) if parent else None,
            kind=KINDS.get(span.get("kind"), SpanKind.INTERNAL),
            attributes=span["attributes"],
            links=links,
            start_time=BASE_NS + span["startNs"],
        )
    # children end before their parents
    for span in reversed(spans):
        one = begun[span["id"]]
        for event in span.get("events", []):
            one.add_event(event["name"], event["attributes"], timestamp=BASE_NS + event["atNs"])
        if "status" in span:
            status = span["status"]
            one.set_status(Status(StatusCode[status["code"].upper()], status.get("message")))
        one.end(BASE_NS + span["endNs"])


logged = Logged()
logging.getLogger().addHandler(logged)
exporter = NotingExporter(
    endpoint=f"{url}/otel/v1/traces",
    headers={"x-api-key": key, "Langsmith-Project": project},
    compression=Compression.Gzip,
    timeout=60,
)
generator = RecordedIds()
provider = TracerProvider(resource=Resource(workload["resource"]), id_generator=generator)
provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=SPANS_OF_BATCH, export_timeout_millis=60_000))
for recorded in workload["traces"]:
    generator.trace_id = recorded["traceId"]
    scope = recorded["scope"]
    send(provider.get_tracer(scope["name"], scope["version"]), generator, recorded["spans"])
# a span that is refused, beside one that is stored
tracer = provider.get_tracer("refused")
generator.trace_id, generator.span_id = "0d" * 16, "0d" * 8
tracer.start_span("refused", attributes={"langsmith.span.id": "x"}, start_time=BASE_NS).end(BASE_NS)
generator.span_id = "0e" * 8
tracer.start_span("stored", start_time=BASE_NS).end(BASE_NS)
provider.shutdown()
print(json.dumps({"batches": exporter.results, "logged": logged.texts}))
