import type { FieldReader, WireField } from './wire-reader.js';

const text = new TextDecoder();

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
function decodeItems(message: Uint8Array, reader: FieldReader): readonly string[] {
  return reader
    .fields(message)
    .flatMap((field) => (field.kind === 'bytes' ? [text.decode(field.value)] : []));
}

/** Types that Kubernetes encodes in ways of their own. */
export const specialTypes: Readonly<Record<string, (message: Uint8Array, reader: FieldReader) => unknown>> = {
  time: (message, reader) => decodeTime(message, reader, 0),
  microtime: (message, reader) => decodeTime(message, reader, 6),
  quantity: (message, reader) => text.decode(bytes(reader.fields(message), 1)),
  intOrString: decodeIntOrString,
  json: decodeJson,
  items: decodeItems,
};
