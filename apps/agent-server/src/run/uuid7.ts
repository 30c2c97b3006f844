import { randomFillSync } from 'node:crypto';

const UUID_BYTES = 16;

/** Random bytes are drawn for many ids at once: a call for the few bytes of one takes longer than all the rest. */
const pool = Buffer.allocUnsafeSlow(256 * UUID_BYTES);
let taken = pool.length;

/** A uuid that sorts by its time of making (version 7), as the tracing SDK wants run ids. */
export function uuid7(now: Date): string {
  if (taken === pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  const bytes = pool.subarray(taken, (taken += UUID_BYTES));
  bytes.writeUIntBE(now.getTime(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
