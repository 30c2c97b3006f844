import { createHash } from 'node:crypto';

/** Namespace of the ids that graphs have as assistants, fixed by the wire. */
const SYSTEM_NAMESPACE = '6ba7b821-9dad-11d1-80b4-00c04fd430c8';

/** The name-based uuid (version 5) of a graph's own assistant. */
export function systemAssistantId(graphId: string): string {
  const digest = createHash('sha1')
    .update(Buffer.from(SYSTEM_NAMESPACE.replaceAll('-', ''), 'hex'))
    .update(graphId)
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString('hex', 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
