import {
  findInvalidUtf8,
  hasMoreValues,
  isJsonObject,
  type JsonObject,
  type JsonWalk,
  parseJson,
  readingValidJson,
} from '#lib/json';
import { spanPieces } from './span-pieces.js';
import {
  type Attributes,
  type AttributeValue,
  type InstrumentationScope,
  integer,
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

/** Maximum length of a JSON body: it is held as it came beside its text. */
const MAX_JSON_BYTES = 16_777_216;
/** A longer text is parsed span by span, and a longer span in turns. */
const MAX_AT_ONCE = 262_144;
/**
 * Maximum number of values of one span, or of one resource: more than a span may have with all that is left
 * out of it.
 */
const MAX_PIECE_VALUES = 250_000;

function fail(what: string, isTooLarge = false): never {
  throw new UnreadableRequestError(`the body is no ExportTraceServiceRequest: ${what}`, isTooLarge);
}

function textOf(body: Buffer): string {
  if (body.length > MAX_JSON_BYTES)
    fail(`JSON is longer than ${MAX_JSON_BYTES} bytes; send application/x-protobuf, or fewer spans`, true);
  const invalidAt = findInvalidUtf8(body);
  if (invalidAt !== undefined) fail(`the text is not UTF-8 at byte ${invalidAt}`);
  return body.toString('utf8');
}

function requireFewValues(text: string): void {
  if (hasMoreValues(text, MAX_PIECE_VALUES))
    fail(
      `a span, or a resource, has more than ${MAX_PIECE_VALUES} values; send application/x-protobuf`,
      true,
    );
}

function parse(text: string): unknown {
  requireFewValues(text);
  try {
    return parseJson(text);
  } catch (error) {
    return fail(error instanceof Error ? error.message.toWellFormed() : 'it is not JSON');
  }
}

function asObject(value: unknown, name: string): JsonObject {
  return isJsonObject(value) ? value : fail(`${name} should be an object`);
}

/** @param text of a piece of a request that is JSON as a whole */
function* parsingObject(text: string | undefined, name: string): JsonWalk<JsonObject> {
  if (text === undefined) return {};
  if (text.length <= MAX_AT_ONCE) return asObject(parse(text), name);
  requireFewValues(text);
  return asObject(yield* readingValidJson(text), name);
}

/** A member by its name in JSON, or the one of the protobuf definition, which readers of JSON take too. */
function member(of: JsonObject, name: string): unknown {
  return of[name] ?? of[name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`)];
}

function objectsIn(of: JsonObject, name: string): readonly JsonObject[] {
  const list = member(of, name) ?? [];
  if (!Array.isArray(list) || !list.every(isJsonObject)) return fail(`${name} should be a list of objects`);
  return list;
}

function objectIn(of: JsonObject, name: string): JsonObject {
  const value = member(of, name) ?? {};
  return isJsonObject(value) ? value : fail(`${name} should be an object`);
}

function text(of: JsonObject, name: string): string {
  const value = member(of, name) ?? '';
  return typeof value === 'string' ? value : fail(`${name} should be a string`);
}

function id(of: JsonObject, name: string): string {
  return text(of, name).toLowerCase();
}

const MAX_UINT64 = 2n ** 64n;

function nanos(of: JsonObject, name: string): bigint {
  const value = member(of, name) ?? 0;
  const isWhole =
    typeof value === 'number'
      ? Number.isInteger(value) && value >= 0
      : typeof value === 'string' && /^\d{1,20}$/.test(value);
  if (isWhole && BigInt(value as number | string) < MAX_UINT64) return BigInt(value as number | string);
  return fail(`${name} should be a number of nanoseconds`);
}

/** A value of an enumeration: its number, as OTLP has it, or its name. */
function enumerated(of: JsonObject, name: string, names: readonly string[]): number {
  const value = member(of, name) ?? 0;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  const at = typeof value === 'string' ? names.indexOf(value) : -1;
  return at >= 0 ? at : fail(`${name} should be the number of its value`);
}

const STATUS_CODES = ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR'];
const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  (kind) => `SPAN_KIND_${kind}`,
);

function intValue(value: unknown): AttributeValue {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? integer(BigInt(value)) : String(value);
}

/** `AnyValue`; undefined when it is left out. */
function readValue(value: unknown, count: SpanCount, depth: number): AttributeValue | undefined {
  if (!count.takes(depth)) return undefined;
  if (!isJsonObject(value)) return null;
  const [name] = Object.keys(value);
  const content = name === undefined ? undefined : value[name];
  switch ((name ?? '').replaceAll('_', '').toLowerCase()) {
    case 'stringvalue':
    case 'bytesvalue':
      if (typeof content !== 'string') return null;
      return count.takesText(content.length) ? content : undefined;
    case 'boolvalue':
      return content === true;
    case 'intvalue':
      return intValue(content);
    case 'doublevalue':
      return typeof content === 'number' || typeof content === 'string' ? content : null;
    case 'arrayvalue':
      return (isJsonObject(content) ? objectsIn(content, 'values') : []).flatMap(
        (item) => readValue(item, count, depth + 1) ?? [],
      );
    case 'kvlistvalue':
      return readMap(isJsonObject(content) ? objectsIn(content, 'values') : [], count, depth);
    default:
      return null;
  }
}

function readMap(pairs: readonly JsonObject[], count: SpanCount, depth: number): AttributeValue {
  // no name of a member reaches into a prototype
  const members = Object.create(null) as Record<string, AttributeValue>;
  for (const pair of pairs) {
    const value = readValue(pair['value'] ?? {}, count, depth + 1);
    if (value !== undefined) members[text(pair, 'key')] = value;
  }
  return members;
}

function readAttributes(of: JsonObject, count: SpanCount): Attributes {
  const attributes = new Map<string, AttributeValue>();
  for (const pair of objectsIn(of, 'attributes')) {
    if (!count.takesOneMore(attributes.size, SPAN_BOUNDS.attributes)) continue;
    const value = readValue(pair['value'] ?? {}, count, 0);
    if (value !== undefined) attributes.set(text(pair, 'key'), value);
  }
  return attributes;
}

function readEvents(of: JsonObject, count: SpanCount): readonly SpanEvent[] {
  const events: SpanEvent[] = [];
  for (const event of objectsIn(of, 'events'))
    if (count.takesOneMore(events.length, SPAN_BOUNDS.events))
      events.push({
        name: text(event, 'name'),
        timeUnixNano: nanos(event, 'timeUnixNano'),
        attributes: readAttributes(event, count),
      });
  return events;
}

function readLinks(of: JsonObject, count: SpanCount): readonly SpanLink[] {
  const links: SpanLink[] = [];
  for (const link of objectsIn(of, 'links'))
    if (count.takesOneMore(links.length, SPAN_BOUNDS.links))
      links.push({
        traceId: id(link, 'traceId'),
        spanId: id(link, 'spanId'),
        attributes: readAttributes(link, count),
      });
  return links;
}

function readSpan(span: JsonObject): Span {
  const count = new SpanCount();
  const status = objectIn(span, 'status');
  const parts = {
    attributes: readAttributes(span, count),
    events: readEvents(span, count),
    links: readLinks(span, count),
  };
  return {
    ...parts,
    traceId: id(span, 'traceId'),
    spanId: id(span, 'spanId'),
    parentSpanId: id(span, 'parentSpanId'),
    traceState: text(span, 'traceState'),
    name: text(span, 'name'),
    kind: enumerated(span, 'kind', KINDS),
    startTimeUnixNano: nanos(span, 'startTimeUnixNano'),
    endTimeUnixNano: nanos(span, 'endTimeUnixNano'),
    statusCode: enumerated(status, 'code', STATUS_CODES),
    statusMessage: text(status, 'message'),
    leftOut: count.leftOut,
  };
}

/** Groups and spans of a request: each costs memory, however few bytes it has. */
class RequestCount {
  #groups = 0;
  #spans = 0;

  addGroup(): void {
    if (++this.#groups > MAX_GROUPS)
      fail('the request has too many groups of spans; send fewer at a time', true);
  }

  addSpan(): void {
    if (++this.#spans > MAX_SPANS) fail('the request has too many spans; send fewer at a time', true);
  }
}

/**
 * The spans of an `ExportTraceServiceRequest` in OTLP/JSON: ids are hexadecimal, enumerations numbers, long
 * integers strings.
 * @yields undefined at pauses for other work: a long request is parsed span by span, a long span in steps
 * @throws UnreadableRequestError
 */
export function* jsonSpans(body: Buffer): Generator<ReceivedSpan | undefined, void, undefined> {
  const text = textOf(body);
  yield* text.length > MAX_AT_ONCE ? spansOfPieces(body, text) : spansOf(asObject(parse(text), 'it'));
}

function* spansOf(request: JsonObject): Generator<ReceivedSpan, void, undefined> {
  const count = new RequestCount();
  for (const [r, resourceSpans] of objectsIn(request, 'resourceSpans').entries()) {
    count.addGroup();
    const resource = resourceOf(objectIn(resourceSpans, 'resource'));
    for (const [s, scopeSpans] of objectsIn(resourceSpans, 'scopeSpans').entries()) {
      count.addGroup();
      const scope = scopeOf(objectIn(scopeSpans, 'scope'));
      for (const [at, span] of objectsIn(scopeSpans, 'spans').entries()) {
        count.addSpan();
        const place = ['resourceSpans', r, 'scopeSpans', s, 'spans', at];
        yield { resource, scope, span: readSpan(span), place };
      }
    }
  }
}

function* spansOfPieces(body: Buffer, text: string): Generator<ReceivedSpan | undefined, void, undefined> {
  const count = new RequestCount();
  let [resource, scope] = [resourceOf({}), scopeOf({})];
  for (const piece of spanPieces(body, text, fail)) {
    switch (piece?.kind) {
      case undefined:
        yield undefined;
        break;
      case 'resource':
        count.addGroup();
        resource = resourceOf(yield* parsingObject(piece.text, 'resource'));
        break;
      case 'scope':
        count.addGroup();
        scope = scopeOf(yield* parsingObject(piece.text, 'scope'));
        break;
      case 'span':
        count.addSpan();
        yield {
          resource,
          scope,
          place: piece.place,
          span: readSpan(yield* parsingObject(piece.text, 'a span')),
        };
        break;
      default:
        piece satisfies never;
    }
  }
}

function resourceOf(resource: JsonObject): Attributes {
  return readAttributes(resource, new SpanCount());
}

function scopeOf(scope: JsonObject): InstrumentationScope {
  return { name: text(scope, 'name'), version: text(scope, 'version') };
}
