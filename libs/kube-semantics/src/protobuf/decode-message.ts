import type { MutableJsonObject } from '#lib/json';
import { type MessageField, messages } from './generated/messages.js';
import { specialTypes } from './special-types.js';
import type { FieldReader, WireField } from './wire-reader.js';

const text = new TextDecoder();
/** Fields by type and number, made once for each type: a body may have hundreds of thousands of messages. */
const fieldsOfTypes = new Map<string, ReadonlyMap<number, MessageField>>();

/** Decodes a message of the tables into the JSON that Kubernetes would write for it. */
export function decodeMessage(bytes: Uint8Array, type: string, reader: FieldReader): MutableJsonObject {
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
