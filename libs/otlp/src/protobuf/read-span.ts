import {
  SPAN_BOUNDS,
  type AttributeValue,
  type InstrumentationScope,
  type Span,
  type SpanEvent,
  type SpanLink,
} from '../span.js';
import { SpanCount } from '../span-bounds.js';
import { readAttribute } from './read-values.js';
import { WIRE, type WireReader } from './wire-reader.js';

type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** Number of bytes read of an id that is too long: enough to see that. */
const MAX_ID_BYTES = 17;

function idOf(reader: WireReader): string {
  return reader.bytes().toString('hex', 0, MAX_ID_BYTES);
}

/** `opentelemetry.proto.trace.v1.Span` */
export function readSpan(reader: WireReader): Span {
  const count = new SpanCount();
  const attributes = new Map<string, AttributeValue>();
  const events: SpanEvent[] = [];
  const links: SpanLink[] = [];
  const span: Draft<Span> = {
    traceId: '',
    spanId: '',
    parentSpanId: '',
    traceState: '',
    name: '',
    kind: 0,
    startTimeUnixNano: 0n,
    endTimeUnixNano: 0n,
    statusCode: 0,
    statusMessage: '',
    leftOut: 0,
    attributes,
    events,
    links,
  };
  while (reader.next()) {
    const { field, type } = reader;
    if (type === WIRE.bytes && field === 1) span.traceId = idOf(reader);
    else if (type === WIRE.bytes && field === 2) span.spanId = idOf(reader);
    else if (type === WIRE.bytes && field === 3) span.traceState = reader.name();
    else if (type === WIRE.bytes && field === 4) span.parentSpanId = idOf(reader);
    else if (type === WIRE.bytes && field === 5) span.name = reader.name();
    else if (type === WIRE.varint && field === 6) span.kind = Number(reader.varint());
    else if (type === WIRE.fixed64 && field === 7) span.startTimeUnixNano = reader.fixed64();
    else if (type === WIRE.fixed64 && field === 8) span.endTimeUnixNano = reader.fixed64();
    else if (type === WIRE.bytes && field === 9) readAttribute(reader, attributes, count);
    else if (type === WIRE.bytes && field === 11) {
      if (count.takesOneMore(events.length, SPAN_BOUNDS.events))
        events.push(readEvent(reader.message(), count));
      else reader.skip();
    } else if (type === WIRE.bytes && field === 13) {
      if (count.takesOneMore(links.length, SPAN_BOUNDS.links)) links.push(readLink(reader.message(), count));
      else reader.skip();
    } else if (type === WIRE.bytes && field === 15) readStatus(reader.message(), span);
    else reader.skip();
  }
  span.leftOut = count.leftOut;
  return span;
}

function readEvent(reader: WireReader, count: SpanCount): SpanEvent {
  const attributes = new Map<string, AttributeValue>();
  const event: Draft<SpanEvent> = { name: '', timeUnixNano: 0n, attributes };
  while (reader.next()) {
    const { field, type } = reader;
    if (type === WIRE.fixed64 && field === 1) event.timeUnixNano = reader.fixed64();
    else if (type === WIRE.bytes && field === 2) event.name = reader.name();
    else if (type === WIRE.bytes && field === 3) readAttribute(reader, attributes, count);
    else reader.skip();
  }
  return event;
}

function readLink(reader: WireReader, count: SpanCount): SpanLink {
  const attributes = new Map<string, AttributeValue>();
  const link: Draft<SpanLink> = { traceId: '', spanId: '', attributes };
  while (reader.next()) {
    const { field, type } = reader;
    if (type === WIRE.bytes && field === 1) link.traceId = idOf(reader);
    else if (type === WIRE.bytes && field === 2) link.spanId = idOf(reader);
    else if (type === WIRE.bytes && field === 4) readAttribute(reader, attributes, count);
    else reader.skip();
  }
  return link;
}

function readStatus(reader: WireReader, span: Draft<Span>): void {
  while (reader.next())
    if (reader.field === 2 && reader.type === WIRE.bytes) span.statusMessage = reader.name();
    else if (reader.field === 3 && reader.type === WIRE.varint) span.statusCode = Number(reader.varint());
    else reader.skip();
}

/** `InstrumentationScope` */
export function readScope(reader: WireReader): InstrumentationScope {
  const scope = { name: '', version: '' };
  while (reader.next())
    if (reader.field === 1 && reader.type === WIRE.bytes) scope.name = reader.name();
    else if (reader.field === 2 && reader.type === WIRE.bytes) scope.version = reader.name();
    else reader.skip();
  return scope;
}
