import type { ColumnType } from '../src/column-type.js';

/** A Buffer stands for a field's bytes as they are. */
export type Value = string | bigint | boolean | null | readonly string[] | Buffer;

const EPOCH_MICROS = 946_684_800_000_000n;

/** What `COPY … TO STDOUT (FORMAT binary)` sends for these rows. */
export function copyBinary(types: readonly ColumnType[], rows: readonly (readonly Value[])[]): Buffer {
  const pieces: Buffer[] = [Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')];
  for (const row of rows) {
    pieces.push(int16(row.length));
    row.forEach((value, n) => {
      const field = value === null ? undefined : encode(types[n] ?? 'text', value);
      pieces.push(int32(field?.length ?? -1));
      if (field) pieces.push(field);
    });
  }
  pieces.push(Buffer.from([0xff, 0xff]));
  return Buffer.concat(pieces);
}

function encode(type: ColumnType, value: Exclude<Value, null>): Buffer {
  if (Buffer.isBuffer(value)) return value;
  switch (type) {
    case 'uuid':
      return Buffer.from(String(value).replaceAll('-', ''), 'hex');
    case 'text':
      return Buffer.from(String(value));
    case 'timestamp':
      return int64((value as bigint) - EPOCH_MICROS);
    case 'int64':
      return int64(value as bigint);
    case 'double': {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleBE(Number(value));
      return bytes;
    }
    case 'bool':
      return Buffer.from([value === true ? 1 : 0]);
    case 'decimal':
      return numeric(String(value));
    case 'uuid-list':
    case 'uuid-list-as-text':
      return array(
        2950,
        (value as readonly string[]).map((text) => encode('uuid', text)),
      );
    case 'text-list':
    case 'text-list-as-text':
      return array(
        25,
        (value as readonly string[]).map((text) => Buffer.from(text)),
      );
  }
}

function array(elementType: number, elements: readonly Buffer[]): Buffer {
  const head = [int32(elements.length === 0 ? 0 : 1), int32(0), int32(elementType)];
  if (elements.length > 0) head.push(int32(elements.length), int32(1));
  return Buffer.concat([...head, ...elements.flatMap((element) => [int32(element.length), element])]);
}

function numeric(text: string): Buffer {
  const [integer = '', fraction = ''] = text.replace('-', '').split('.');
  const whole = integer.padStart(Math.ceil(integer.length / 4) * 4, '0');
  const digits = whole + fraction.padEnd(Math.ceil(fraction.length / 4) * 4, '0');
  let groups = (digits.match(/.{4}/g) ?? []).map(Number);
  let weight = whole.length / 4 - 1;
  while (groups[0] === 0) {
    groups = groups.slice(1);
    weight--;
  }
  while (groups.at(-1) === 0) groups = groups.slice(0, -1);
  if (groups.length === 0) weight = 0;
  const sign = text.startsWith('-') && groups.length > 0 ? 0x4000 : 0;
  return Buffer.concat([
    int16(groups.length),
    int16(weight),
    int16(sign),
    int16(fraction.length),
    ...groups.map((group) => int16(group)),
  ]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value & 0xffff);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
