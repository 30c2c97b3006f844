import {
  type Attributes,
  type AttributeValue,
  integer,
  SPAN_BOUNDS,
  type SpanCount,
  UnreadableRequestError,
} from '../span.js';

const MAX_NAME_BYTES = 65_536;

/** Types of fields on the wire. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Fields that a part of a request may have which is read in one go: a span, a resource, a group without what is in it. */
const MAX_FIELDS = 200_000;
/** Bytes of a name that cost as much as a field. */
const NAME_BYTES = 64;

/** Counts the fields of a request, also those that are skipped: each takes time, however few bytes it has. */
export class FieldCount {
  #read = 0;
  #most = MAX_FIELDS;

  get read(): number {
    return this.#read;
  }

  /** Begins a new part. */
  begin(): void {
    this.#most = this.#read + MAX_FIELDS;
  }

  /** @throws UnreadableRequestError */
  add(fields: number): void {
    this.#read += fields;
    if (this.#read <= this.#most) return;
    const what = `a span, a resource or a group of spans has over ${MAX_FIELDS} fields (names count by their length)`;
    throw new UnreadableRequestError(`${what}; send fewer in one`, true);
  }
}

/** Reads the fields of one protobuf message, from `at` to before `end`. */
export class WireReader {
  /** Number of the field that is to be read or skipped. */
  field = 0;
  /** Its type. */
  type = 0;

  constructor(
    readonly buffer: Buffer,
    private readonly count: FieldCount,
    public at = 0,
    readonly end = buffer.length,
  ) {}

  /** Moves to the next field; false at the end of the message. @throws UnreadableRequestError */
  next(): boolean {
    if (this.at >= this.end) return false;
    this.count.add(1);
    const tag = this.#whole();
    this.field = Math.floor(tag / 8);
    this.type = tag % 8;
    if (this.field === 0 || tag > 0xffff_ffff) this.fail('the number of a field is invalid');
    return true;
  }

  /** Unsigned, of 64 bits. */
  varint(): bigint {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      low += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value += BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    return this.fail('a number is longer than 64 bits');
  }

  fixed64(): bigint {
    return this.buffer.readBigUInt64LE(this.#take(8));
  }

  double(): number {
    return this.buffer.readDoubleLE(this.#take(8));
  }

  /** A view, no copy. */
  bytes(): Buffer {
    const length = this.#whole();
    const start = this.#take(length);
    return this.buffer.subarray(start, start + length);
  }

  /** Reads a name: bytes that are not UTF-8 become U+FFFD, and text after its first 64 KiB is cut off. */
  name(): string {
    const bytes = this.bytes();
    this.count.add(Math.floor(Math.min(bytes.length, MAX_NAME_BYTES) / NAME_BYTES));
    return bytes.toString('utf8', 0, MAX_NAME_BYTES);
  }

  message(): WireReader {
    const length = this.#whole();
    const start = this.#take(length);
    return new WireReader(this.buffer, this.count, start, start + length);
  }

  /** Passes over the field. Groups, which no version of OTLP has, are refused. */
  skip(): void {
    if (this.type === WIRE.varint) this.varint();
    else if (this.type === WIRE.fixed64) this.#take(8);
    else if (this.type === WIRE.bytes) this.#take(this.#whole());
    else if (this.type === WIRE.fixed32) this.#take(4);
    else this.fail(`a field has the unknown type ${this.type}`);
  }

  fail(what: string): never {
    throw new UnreadableRequestError(`the body is no ExportTraceServiceRequest: ${what} at byte ${this.at}`);
  }

  /**
   * Reads a tag or a length: a number at once, beyond 2 ** 53 not exactly, which no body is long enough for.
   */
  #whole(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    return this.fail('a number is longer than 64 bits');
  }

  #byte(): number {
    if (this.at >= this.end) this.fail('a field ends too early');
    return this.buffer[this.at++] as number;
  }

  #take(length: number): number {
    const start = this.at;
    if (length > this.end - start) this.fail('a field ends too early');
    this.at = start + length;
    return start;
  }
}

function finite(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

function textOf(reader: WireReader, count: SpanCount, encoding: 'utf8' | 'base64'): string | undefined {
  const bytes = reader.bytes();
  return count.takesText(bytes.length) ? bytes.toString(encoding) : undefined;
}

/** `AnyValue`; undefined when it is left out. */
function readValue(reader: WireReader, count: SpanCount, depth: number): AttributeValue | undefined {
  if (!count.takes(depth)) return undefined;
  let value: AttributeValue | undefined = null;
  while (reader.next()) {
    const { field, type } = reader;
    if (field === 1 && type === WIRE.bytes) value = textOf(reader, count, 'utf8');
    else if (field === 2 && type === WIRE.varint) value = reader.varint() !== 0n;
    else if (field === 3 && type === WIRE.varint) value = integer(BigInt.asIntN(64, reader.varint()));
    else if (field === 4 && type === WIRE.fixed64) value = finite(reader.double());
    else if (field === 5 && type === WIRE.bytes) value = readList(reader.message(), count, depth);
    else if (field === 6 && type === WIRE.bytes) value = readMap(reader.message(), count, depth);
    else if (field === 7 && type === WIRE.bytes) value = textOf(reader, count, 'base64');
    else reader.skip();
  }
  return value;
}

function readList(reader: WireReader, count: SpanCount, depth: number): AttributeValue {
  const items: AttributeValue[] = [];
  while (reader.next()) {
    if (reader.field !== 1 || reader.type !== WIRE.bytes) {
      reader.skip();
      continue;
    }
    const item = readValue(reader.message(), count, depth + 1);
    if (item !== undefined) items.push(item);
  }
  return items;
}

function readMap(reader: WireReader, count: SpanCount, depth: number): AttributeValue {
  // no name of a member reaches into a prototype
  const members = Object.create(null) as Record<string, AttributeValue>;
  while (reader.next()) {
    if (reader.field !== 1 || reader.type !== WIRE.bytes) {
      reader.skip();
      continue;
    }
    const [name, value] = readPair(reader.message(), count, depth + 1);
    if (value !== undefined) members[name] = value;
  }
  return members;
}

function readPair(
  reader: WireReader,
  count: SpanCount,
  depth: number,
): readonly [string, AttributeValue | undefined] {
  let name = '';
  let value: AttributeValue | undefined;
  let hasValue = false;
  while (reader.next())
    if (reader.field === 1 && reader.type === WIRE.bytes) name = reader.name();
    else if (reader.field === 2 && reader.type === WIRE.bytes) {
      value = readValue(reader.message(), count, depth);
      hasValue = true;
    } else reader.skip();
  // pairs of two bytes count as well
  if (!hasValue && count.takes(depth)) value = null;
  return [name, value];
}

/** Adds one `KeyValue` of a list of attributes. */
export function readAttribute(
  reader: WireReader,
  attributes: Map<string, AttributeValue>,
  count: SpanCount,
): void {
  if (!count.takesOneMore(attributes.size, SPAN_BOUNDS.attributes)) return reader.skip();
  const [name, value] = readPair(reader.message(), count, 0);
  if (value !== undefined) attributes.set(name, value);
}

/** The attributes of a message that has them in one field; all other fields are skipped. */
export function readAttributes(reader: WireReader, field: number, count: SpanCount): Attributes {
  const attributes = new Map<string, AttributeValue>();
  while (reader.next())
    if (reader.field === field && reader.type === WIRE.bytes) readAttribute(reader, attributes, count);
    else reader.skip();
  return attributes;
}
