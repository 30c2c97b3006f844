import { createHmac } from 'node:crypto';
import { stableJson } from '#lib/json';
import { isUuid } from '#lib/resources';
import type { Sql } from '../store/sql.js';
import { getContextKey } from '../store/task/get-context-key.js';
import { WORKER } from '../store/worker-scope.js';

/**
 * Threads of contexts. An id that a client made up leads to a separate thread for each owner, the same at
 * each server and after each restart. Its id is made with a secret: a client that could foresee it could take
 * it before its owner does.
 */
export class ContextThreads {
  #key: Promise<string> | undefined;

  constructor(private readonly sql: Sql) {}

  /**
   * Threads that a context may be; the first that the caller can use counts.
   * @param owner owner of the context; undefined when all callers share it
   */
  async of(owner: string | undefined, contextId: string): Promise<readonly [string, string?]> {
    const derived = derivedId(await this.#readKey(), owner, contextId);
    return isUuid(contextId) ? [contextId.toLowerCase(), derived] : [derived];
  }

  #readKey(): Promise<string> {
    if (!this.#key) {
      this.#key = getContextKey(WORKER, this.sql);
      this.#key.catch(() => (this.#key = undefined)); // the database may answer the next time
    }
    return this.#key;
  }
}

function derivedId(key: string, owner: string | undefined, contextId: string): string {
  const digest = createHmac('sha256', key)
    .update(stableJson([owner ?? null, contextId]))
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6); // a uuid of version 8: its bits are our own affair
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
