import { createHash } from 'node:crypto';
import { stableJson } from '#lib/json';
import { isUuid } from '#lib/resources';

/** A caller's own thread of a context, the same at each server and after each restart. */
function derivedThreadId(owner: string | undefined, contextId: string): string {
  const digest = createHash('sha256')
    .update(stableJson(['a2a context', owner ?? null, contextId]))
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6); // a uuid of version 8: its bits are our own affair
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * Threads that a context may be, the first that the caller can use counts.
 * @param owner whose context it is; undefined where all callers share them
 */
export function threadsOfContext(owner: string | undefined, contextId: string): readonly [string, string?] {
  const derived = derivedThreadId(owner, contextId);
  return isUuid(contextId) ? [contextId.toLowerCase(), derived] : [derived];
}
