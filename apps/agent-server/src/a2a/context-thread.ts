import { createHash } from 'node:crypto';
import { stableJson } from '#lib/json';
import { isUuid } from '#lib/resources';
import type { Scope } from '../store/scope.js';

/** A caller's own thread of a context, the same at each server and after each restart. */
function derivedThreadId(scope: Scope, contextId: string): string {
  const filter = scope.kind === 'caller' ? [...scope.filter.alternatives].sort() : [];
  const digest = createHash('sha256')
    .update(stableJson(['a2a context', filter, contextId]))
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6); // a uuid of version 8: its bits are our own affair
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Threads that a context may be, the first that the caller can use counts. */
export function threadsOfContext(scope: Scope, contextId: string): readonly string[] {
  const derived = derivedThreadId(scope, contextId);
  return isUuid(contextId) ? [contextId.toLowerCase(), derived] : [derived];
}
