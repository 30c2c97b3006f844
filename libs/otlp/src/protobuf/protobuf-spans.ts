import {
  type Attributes,
  type AttributeValue,
  type InstrumentationScope,
  MAX_GROUPS,
  MAX_SPANS,
  type ReceivedSpan,
  type Span,
  SPAN_BOUNDS,
  SpanCount,
  type SpanEvent,
  type SpanLink,
  UnreadableRequestError,
} from '../span.js';
import { FieldCount, readAttribute, readAttributes, WIRE, WireReader } from './wire-reader.js';

type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** Number of bytes read of an id that is too long: enough to see that. */
const MAX_ID_BYTES = 17;

function idOf(reader: WireReader): string {
  return reader.bytes().toString('hex', 0, MAX_ID_BYTES);
}

/** `opentelemetry.proto.trace.v1.Span` */
function readSpan(reader: WireReader): Span {
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
function readScope(reader: WireReader): InstrumentationScope {
  const scope = { name: '', version: '' };
  while (reader.next())
    if (reader.field === 1 && reader.type === WIRE.bytes) scope.name = reader.name();
    else if (reader.field === 2 && reader.type === WIRE.bytes) scope.version = reader.name();
    else reader.skip();
  return scope;
}

/** Places of a repeated field of a message, and of another that occurs once. */
interface Parts {
  readonly one: WireReader | undefined;
  readonly many: readonly WireReader[];
}

/** Fields 1 (a message) and 2 (messages), in whatever order they were written. */
function partsOf(reader: WireReader, count: GroupCount): Parts {
  const many: WireReader[] = [];
  let one: WireReader | undefined;
  while (reader.next())
    if (reader.field === 1 && reader.type === WIRE.bytes) one = reader.message();
    else if (reader.field === 2 && reader.type === WIRE.bytes) {
      count.add();
      many.push(reader.message());
    } else reader.skip();
  return { one, many };
}

/** Groups and spans of a request: each costs memory, however few bytes it has. */
class GroupCount {
  #left: number;

  constructor(
    most: number,
    private readonly what: string,
  ) {
    this.#left = most;
  }

  add(): void {
    if (this.#left-- > 0) return;
    throw new UnreadableRequestError(`the request has too many ${this.what}; send fewer at a time`, true);
  }
}

/** Fields that are read between two pauses, some milliseconds. */
const FIELDS_AT_ONCE = 50_000;

/**
 * The spans of an `ExportTraceServiceRequest`, each decoded when it is asked for. The request is checked only
 * as far as it is read.
 * @yields undefined at pauses for other work: a request may be nothing but groups without spans
 * @throws UnreadableRequestError
 */
export function* protobufSpans(body: Buffer): Generator<ReceivedSpan | undefined, void, void> {
  const groups = new GroupCount(MAX_GROUPS, 'groups of spans');
  const spans = new GroupCount(MAX_SPANS, 'spans');
  const fields = new FieldCount();
  let pausedAt = 0;
  const isLong = (): boolean => {
    if (fields.read - pausedAt < FIELDS_AT_ONCE) return false;
    pausedAt = fields.read;
    return true;
  };
  const request = new WireReader(body, fields);
  for (let r = 0; request.next();) {
    if (request.field !== 1 || request.type !== WIRE.bytes) {
      request.skip();
      continue;
    }
    groups.add();
    fields.begin();
    const { one, many } = partsOf(request.message(), groups);
    fields.begin();
    const resource: Attributes = one ? readAttributes(one, 1, new SpanCount()) : new Map();
    for (const [s, scopeSpans] of many.entries()) {
      fields.begin();
      const parts = partsOf(scopeSpans, spans);
      const scope: InstrumentationScope = parts.one ? readScope(parts.one) : { name: '', version: '' };
      for (const [at, span] of parts.many.entries()) {
        fields.begin();
        yield {
          resource,
          scope,
          span: readSpan(span),
          place: ['resourceSpans', r, 'scopeSpans', s, 'spans', at],
        };
        if (isLong()) yield undefined;
      }
      if (isLong()) yield undefined;
    }
    if (isLong()) yield undefined;
    fields.begin();
    r++;
  }
}
