/** Writes a request in OTLP/JSON as protobuf, for tests: the messages of the trace service and nothing else. */

type Json = Readonly<Record<string, unknown>>;

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, value);
  while (left > 0x7fn) {
    bytes.push(Number(left & 0x7fn) | 0x80);
    left >>= 7n;
  }
  return Buffer.from([...bytes, Number(left)]);
}

const tag = (field: number, type: number): Buffer => varint(BigInt(field * 8 + type));
const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([tag(field, 2), varint(BigInt(value.length)), value]);
const text = (field: number, value: unknown): Buffer =>
  value === undefined || value === '' ? Buffer.alloc(0) : bytes(field, Buffer.from(String(value)));
const hex = (field: number, value: unknown): Buffer =>
  value === undefined ? Buffer.alloc(0) : bytes(field, Buffer.from(String(value), 'hex'));
const number = (field: number, value: unknown): Buffer =>
  value === undefined ? Buffer.alloc(0) : Buffer.concat([tag(field, 0), varint(BigInt(Number(value)))]);
const fixed = (field: number, value: unknown): Buffer => {
  if (value === undefined) return Buffer.alloc(0);
  const eight = Buffer.alloc(8);
  eight.writeBigUInt64LE(BigInt(value as string));
  return Buffer.concat([tag(field, 1), eight]);
};
const each = (field: number, list: unknown, encode: (item: Json) => Buffer): Buffer =>
  Buffer.concat(((list ?? []) as readonly Json[]).map((item) => bytes(field, encode(item))));

function value(of: Json): Buffer {
  if ('stringValue' in of) return bytes(1, Buffer.from(of['stringValue'] as string));
  if ('boolValue' in of) return Buffer.from([0x10, of['boolValue'] === true ? 1 : 0]);
  if ('intValue' in of) return Buffer.concat([tag(3, 0), varint(BigInt(of['intValue'] as string))]);
  if ('doubleValue' in of) {
    const eight = Buffer.alloc(8);
    eight.writeDoubleLE(of['doubleValue'] as number);
    return Buffer.concat([tag(4, 1), eight]);
  }
  if ('arrayValue' in of) return bytes(5, each(1, (of['arrayValue'] as Json)['values'], value));
  if ('kvlistValue' in of) return bytes(6, each(1, (of['kvlistValue'] as Json)['values'], pair));
  if ('bytesValue' in of) return bytes(7, Buffer.from(of['bytesValue'] as string, 'base64'));
  return Buffer.alloc(0);
}

function pair(of: Json): Buffer {
  return Buffer.concat([text(1, of['key']), bytes(2, value((of['value'] ?? {}) as Json))]);
}

function event(of: Json): Buffer {
  return Buffer.concat([fixed(1, of['timeUnixNano']), text(2, of['name']), each(3, of['attributes'], pair)]);
}

function link(of: Json): Buffer {
  return Buffer.concat([hex(1, of['traceId']), hex(2, of['spanId']), each(4, of['attributes'], pair)]);
}

function span(of: Json): Buffer {
  const status = (of['status'] ?? {}) as Json;
  return Buffer.concat([
    hex(1, of['traceId']),
    hex(2, of['spanId']),
    text(3, of['traceState']),
    hex(4, of['parentSpanId']),
    text(5, of['name']),
    number(6, of['kind']),
    fixed(7, of['startTimeUnixNano']),
    fixed(8, of['endTimeUnixNano']),
    each(9, of['attributes'], pair),
    each(11, of['events'], event),
    each(13, of['links'], link),
    bytes(15, Buffer.concat([text(2, status['message']), number(3, status['code'])])),
  ]);
}

function scopeSpans(of: Json): Buffer {
  const { name, version } = (of['scope'] ?? {}) as Json;
  // the scope last: the order of fields is the writer's
  return Buffer.concat([
    each(2, of['spans'], span),
    bytes(1, Buffer.concat([text(1, name), text(2, version)])),
  ]);
}

function resourceSpans(of: Json): Buffer {
  const resource = each(1, ((of['resource'] ?? {}) as Json)['attributes'], pair);
  return Buffer.concat([each(2, of['scopeSpans'], scopeSpans), bytes(1, resource)]);
}

export function encodeRequest(request: Json): Buffer {
  return each(1, request['resourceSpans'], resourceSpans);
}
