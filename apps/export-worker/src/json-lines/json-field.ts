import { forEachElement, readDecimal, readInt64, readMicros, readUuid } from '#lib/parquet';
import type { Tuple } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import type { ExportColumn } from '#lib/trace-store';
import type { LineBuffer } from './line-buffer.js';

/**
 * Writes one field of a tuple as JSON: ids, times and costs as strings, as the REST interface answers them, tokens as
 * numbers, lists as lists, payloads as they are stored.
 */
export function writeField(
  line: LineBuffer,
  { type, isJson }: ExportColumn,
  row: Tuple,
  field: number,
): void {
  const { bytes, offsets, lengths } = row;
  const at = offsets[field] ?? 0;
  const length = lengths[field] ?? -1;
  if (length < 0) return line.ascii('null');
  switch (type) {
    case 'uuid':
      return line.ascii(`"${readUuid(bytes, at)}"`);
    case 'text':
      return isJson ? line.json(bytes, at, length) : line.text(bytes, at, length);
    case 'timestamptz':
      return line.ascii(`"${formatInstant(readMicros(bytes, at))}"`);
    case 'bool':
      return line.ascii(bytes[at] === 0 ? 'false' : 'true');
    case 'int8':
      return line.ascii(String(readInt64(bytes, at)));
    case 'float8':
      return line.ascii(JSON.stringify(bytes.readDoubleBE(at)));
    case 'numeric':
      return line.ascii(`"${readDecimal(bytes, at)}"`);
    case 'uuid[]':
    case 'text[]':
      line.ascii('[');
      forEachElement(bytes, at, (element, elementLength, index) => {
        if (index > 0) line.ascii(',');
        if (type === 'uuid[]') line.ascii(`"${readUuid(bytes, element)}"`);
        else line.text(bytes, element, elementLength);
      });
      return line.ascii(']');
    default:
      return type satisfies never;
  }
}
