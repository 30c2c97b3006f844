import { integer } from '../integer.js';
import { SPAN_BOUNDS, type Attributes, type AttributeValue } from '../span.js';
import type { SpanCount } from '../span-bounds.js';
import { WIRE, type WireReader } from './wire-reader.js';

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
