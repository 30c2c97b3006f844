import type { ColumnType } from './column-type.js';
import {
  forEachElement,
  putDecimal,
  putDouble,
  putInt64,
  putMicros,
  putUuid,
  readUuid,
} from './field-values.js';
import type { PageBuffer } from './page.js';

/** Appends one value in Postgres' binary form to a page. */
export type ValueEncoder = (page: PageBuffer, source: Buffer, at: number, length: number) => void;

/** Shorter values are copied faster byte by byte than by a call. */
const SHORT = 24;

function appendText(page: PageBuffer, source: Buffer, at: number, length: number): void {
  page.reserve(4 + length);
  const target = page.bytes;
  let end = page.length;
  putLength(target, end, length);
  end += 4;
  if (length < SHORT) for (let n = 0; n < length; n++) target[end + n] = source[at + n] ?? 0;
  else source.copy(target, end, at, at + length);
  page.length = end + length;
}

function putLength(target: Buffer, offset: number, length: number): void {
  target[offset] = length;
  target[offset + 1] = length >>> 8;
  target[offset + 2] = length >>> 16;
  target[offset + 3] = length >>> 24;
}

function appendUuid(page: PageBuffer, source: Buffer, at: number): void {
  page.reserve(40);
  putLength(page.bytes, page.length, 36);
  putUuid(page.bytes, page.length + 4, source, at);
  page.length += 40;
}

function fixed8(put: (target: Buffer, offset: number, source: Buffer, at: number) => void): ValueEncoder {
  return (page, source, at) => {
    page.reserve(8);
    put(page.bytes, page.length, source, at);
    page.length += 8;
  };
}

function appendBool(page: PageBuffer, source: Buffer, at: number): void {
  page.appendBit(source[at] === 1);
}

function jsonArray(render: (source: Buffer, at: number, length: number) => string): ValueEncoder {
  return (page, source, at) => {
    const elements: string[] = [];
    forEachElement(source, at, (element, length) => elements.push(render(source, element, length)));
    const text = Buffer.from(JSON.stringify(elements));
    appendText(page, text, 0, text.length);
  };
}

/** The encoder of a column's values; of a list, of its elements. */
export function valueEncoder(type: ColumnType): ValueEncoder {
  switch (type) {
    case 'text':
    case 'text-list':
      return appendText;
    case 'uuid':
    case 'uuid-list':
      return appendUuid;
    case 'timestamp':
      return fixed8(putMicros);
    case 'int64':
      return fixed8(putInt64);
    case 'decimal':
      return fixed8(putDecimal);
    case 'double':
      return fixed8(putDouble);
    case 'bool':
      return appendBool;
    case 'uuid-list-as-text':
      return jsonArray(readUuid);
    case 'text-list-as-text':
      return jsonArray((source, at, length) => source.toString('utf8', at, at + length));
    default:
      return type satisfies never;
  }
}
