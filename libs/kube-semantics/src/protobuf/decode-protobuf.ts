import type { JsonObject, MutableJsonObject } from '#lib/json';
import { type MessageField, messages, roots } from './generated/messages.js';

/** A field on the wire: an integer, or a run of bytes. */
type WireField =
  | { readonly number: number; readonly kind: 'integer'; readonly value: bigint }
  | { readonly number: number; readonly kind: 'bytes'; readonly value: Uint8Array }
  | { readonly number: number; readonly kind: 'fixed'; readonly value: Uint8Array };

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Three for each value that an object may have: an entry of a map has two of its own. */
const MAX_FIELDS = 300_000;

/** A body has more fields than any object. */
class TooManyFieldsError extends Error {}

/**
 * Reads the messages of one body. A message of two bytes becomes an object of hundreds, so that megabytes of them would
 * fill the memory, and stop everybody else for seconds, before it is known how many values they are.
 */
class FieldReader {
  #left = MAX_FIELDS;

  /**
   * The fields of a message in the order they were written.
   * @throws RangeError when it ends too early, TooManyFieldsError
   */
  fields(message: Uint8Array): readonly WireField[] {
    return this.#read(message, (reader) => reader.field());
  }

  /** Integers of a packed list. */
  packed(bytes: Uint8Array): readonly bigint[] {
    return this.#read(bytes, (reader) => reader.varint());
  }

  #read<T>(bytes: Uint8Array, one: (reader: WireReader) => T): readonly T[] {
    const reader = new WireReader(bytes);
    const found: T[] = [];
    while (!reader.isAtEnd) {
      if (this.#left-- === 0) throw new TooManyFieldsError();
      found.push(one(reader));
    }
    return found;
  }
}

class WireReader {
  #at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get isAtEnd(): boolean {
    return this.#at >= this.bytes.length;
  }

  field(): WireField {
    const tag = Number(this.varint());
    const number = tag >>> 3;
    switch (tag & 7) {
      case VARINT:
        return { number, kind: 'integer', value: this.varint() };
      case BYTES:
        return { number, kind: 'bytes', value: this.#take(Number(this.varint())) };
      case FIXED64:
        return { number, kind: 'fixed', value: this.#take(8) };
      case FIXED32:
        return { number, kind: 'fixed', value: this.#take(4) };
      default:
        throw new RangeError(`unknown wire type ${tag & 7}`);
    }
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.#at++];
      if (byte === undefined) throw new RangeError('unexpected end of message');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('integer is too long');
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.bytes.length) throw new RangeError('unexpected end of message');
    const taken = this.bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

function integer(fields: readonly WireField[], number: number): bigint {
  const found = fields.find((field) => field.number === number);
  return found?.kind === 'integer' ? BigInt.asIntN(64, found.value) : 0n;
}

function bytes(fields: readonly WireField[], number: number): Uint8Array {
  const found = fields.find((field) => field.number === number);
  return found?.kind === 'bytes' ? found.value : new Uint8Array();
}

/** `2026-01-02T03:04:05Z`, with `fractionDigits` digits of the second; undefined for no time. */
function decodeTime(message: Uint8Array, reader: FieldReader, fractionDigits: number): string | undefined {
  if (message.length === 0) return undefined;
  const fields = reader.fields(message);
  const seconds = new Date(Number(integer(fields, 1)) * 1000).toISOString().slice(0, 19);
  const nanos = integer(fields, 2).toString().padStart(9, '0').slice(0, fractionDigits);
  return fractionDigits === 0 ? `${seconds}Z` : `${seconds}.${nanos}Z`;
}

function decodeIntOrString(message: Uint8Array, reader: FieldReader): number | string {
  const fields = reader.fields(message);
  return integer(fields, 1) === 0n ? Number(integer(fields, 2)) : text.decode(bytes(fields, 3));
}

/** Raw JSON inside a message. */
function decodeJson(message: Uint8Array, reader: FieldReader): unknown {
  const raw = bytes(reader.fields(message), 1);
  return raw.length === 0 ? undefined : (JSON.parse(text.decode(raw)) as unknown);
}

/** A message that is only a list of strings. */
function decodeSpecialItems(message: Uint8Array, reader: FieldReader): readonly string[] {
  return reader
    .fields(message)
    .flatMap((field) => (field.kind === 'bytes' ? [text.decode(field.value)] : []));
}

/** Types that Kubernetes encodes in ways of their own. */
const specialTypes: Readonly<Record<string, (message: Uint8Array, reader: FieldReader) => unknown>> = {
  time: (message, reader) => decodeTime(message, reader, 0),
  microtime: (message, reader) => decodeTime(message, reader, 6),
  quantity: (message, reader) => text.decode(bytes(reader.fields(message), 1)),
  intOrString: decodeIntOrString,
  json: decodeJson,
  items: decodeSpecialItems,
};

/** Fields by type and number, made once for each type: a body may have hundreds of thousands of messages. */
const fieldsOfTypes = new Map<string, ReadonlyMap<number, MessageField>>();

/** Decodes a message of the tables into the JSON that Kubernetes would write for it. */
function decodeMessage(bytes: Uint8Array, type: string, reader: FieldReader): MutableJsonObject {
  const byNumber = fieldsOf(type);
  const out: MutableJsonObject = {};
  for (const wire of reader.fields(bytes)) {
    const field = byNumber.get(wire.number);
    if (field !== undefined) addField(out, field, wire, reader);
  }
  return out;
}

function fieldsOf(type: string): ReadonlyMap<number, MessageField> {
  const known = fieldsOfTypes.get(type);
  if (known) return known;
  const fields = messages[type];
  if (fields === undefined) throw new RangeError(`no message ${type}`);
  const byNumber = new Map(fields.map((field) => [field[0], field]));
  fieldsOfTypes.set(type, byNumber);
  return byNumber;
}

function addField(
  out: MutableJsonObject,
  [, name, type, flags]: MessageField,
  wire: WireField,
  reader: FieldReader,
): void {
  if (flags.includes('i')) {
    const inner = decodeValue(type, wire, reader);
    if (typeof inner === 'object' && inner !== null) Object.assign(out, inner);
  } else if (type.startsWith('map:')) addEntry(out, [name, type.slice('map:'.length)], wire, reader);
  else if (flags.includes('r')) {
    // added to, not copied: a message has a million items, and each copy would take as long as all before it
    const list = Array.isArray(out[name]) ? (out[name] as unknown[]) : (out[name] = []);
    for (const item of decodeItems(type, wire, reader)) list.push(item);
  } else {
    const value = decodeValue(type, wire, reader);
    if (value !== undefined && (flags.includes('k') || !isZero(value))) out[name] = value;
  }
}

/** Go leaves such values out of JSON. */
function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false;
}

function decodeItems(type: string, wire: WireField, reader: FieldReader): readonly unknown[] {
  if (type === 'int' && wire.kind === 'bytes') return reader.packed(wire.value).map(toNumber);
  return [decodeValue(type, wire, reader)];
}

function decodeValue(type: string, wire: WireField, reader: FieldReader): unknown {
  if (wire.kind === 'integer') return type === 'bool' ? wire.value !== 0n : toNumber(wire.value);
  if (wire.kind === 'fixed') return doubleOf(wire.value);
  if (type === 'string') return text.decode(wire.value);
  if (type === 'bytes') return Buffer.from(wire.value).toString('base64');
  const special = specialTypes[type];
  if (special !== undefined) return special(wire.value, reader);
  const message = decodeMessage(wire.value, type, reader);
  return '' in message ? message[''] : message; // a field without a name is its message
}

function doubleOf({ buffer, byteOffset, byteLength }: Uint8Array): number {
  return new DataView(buffer, byteOffset, byteLength).getFloat64(0, true);
}

function toNumber(value: bigint): number {
  return Number(BigInt.asIntN(64, value));
}

function addEntry(
  out: MutableJsonObject,
  [name, type]: readonly [name: string, type: string],
  wire: WireField,
  reader: FieldReader,
): void {
  if (wire.kind !== 'bytes') return;
  const entry = reader.fields(wire.value);
  const key = entry.find((field) => field.number === 1);
  const value = entry.find((field) => field.number === 2);
  const map = (out[name] ??= {}) as MutableJsonObject;
  const at = key?.kind === 'bytes' ? text.decode(key.value) : '';
  const decoded =
    value === undefined
      ? type === 'string' || type === 'bytes'
        ? ''
        : {}
      : decodeValue(type, value, reader);
  // also for a key that is called __proto__
  Object.defineProperty(map, at, { value: decoded, enumerable: true, configurable: true, writable: true });
}

/** The body is not Kubernetes protobuf, of a type that is not served, or has too many fields: `status` is the answer's. */
export class ProtobufError extends Error {
  constructor(
    readonly status: 400 | 413 | 415,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ProtobufError';
  }
}

const MAGIC = [0x6b, 0x38, 0x73, 0x00];
const text = new TextDecoder();

/** Decodes a body of `application/vnd.kubernetes.protobuf` (magic `k8s\0`, Unknown envelope) into the object's JSON. */
export function decodeProtobuf(bytes: Uint8Array): JsonObject {
  if (!MAGIC.every((byte, index) => bytes[index] === byte)) {
    throw new ProtobufError(
      400,
      'provided data does not appear to be a protobuf message, expected prefix "k8s\\x00"',
    );
  }
  try {
    return decodeEnvelope(bytes.subarray(MAGIC.length), new FieldReader());
  } catch (thrown) {
    if (thrown instanceof TooManyFieldsError) throw new ProtobufError(413, 'it has too many fields');
    if (!(thrown instanceof RangeError) && !(thrown instanceof SyntaxError)) throw thrown;
    throw new ProtobufError(400, `unable to decode the protobuf body: ${thrown.message}`, { cause: thrown });
  }
}

function decodeEnvelope(body: Uint8Array, reader: FieldReader): JsonObject {
  const envelope = reader.fields(body);
  const type = reader.fields(bytesOf(envelope, 1));
  const apiVersion = text.decode(bytesOf(type, 1));
  const kind = text.decode(bytesOf(type, 2));
  const message =
    roots[`${apiVersion} ${kind}`] ?? (kind === 'DeleteOptions' ? roots['v1 DeleteOptions'] : undefined);
  if (message === undefined) {
    throw new ProtobufError(
      415,
      `no kind "${kind}" of "${apiVersion}" can be decoded from protobuf; send JSON`,
    );
  }
  return { apiVersion, kind, ...decodeMessage(bytesOf(envelope, 2), message, reader) };
}

function bytesOf(fields: readonly WireField[], number: number): Uint8Array {
  const found = fields.find((field) => field.number === number);
  return found?.kind === 'bytes' ? found.value : new Uint8Array();
}
