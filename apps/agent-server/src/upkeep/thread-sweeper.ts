import { errorText, PublicError } from '#lib/errors';
import type { ThreadTtlSettings } from '#lib/graph-configuration';
import { postgresTrouble } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { databaseTime } from '../store/statement/crons.js';
import { hasActiveRun } from '../store/statement/runs.js';
import type { Sql } from '../store/sql.js';
import { lockThread, pruneThread, removeThread } from '../store/statement/change-thread.js';
import {
  claimExpiredThreads,
  type ExpiredThread,
  findThreadTtl,
  restThreadTtl,
  setDefaultTtl,
} from '../store/statement/threads.js';
import { WORKER } from '../store/worker-scope.js';

const MS_PER_MINUTE = 60_000;

/** Threads of one statement; other work runs between two of them. */
const BATCH = 50;

export interface ThreadSweeperParts {
  readonly sql: Sql;
  readonly settings: ThreadTtlSettings;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Removes expired threads, by the time of the database, or all their states but the last. Several servers
 * share the work; a thread with a pending or running run is left alone, however old.
 */
export class ThreadSweeper {
  #cancel: (() => void) | undefined;
  #isStopped = false;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(private readonly parts: ThreadSweeperParts) {}

  /** Applies the setting of `langgraph.json` to threads made from now on; once there is a schema. */
  async prepare(): Promise<void> {
    const { strategy, defaultMinutes: minutes } = this.parts.settings;
    await setDefaultTtl(WORKER, this.parts.sql, minutes === undefined ? undefined : { strategy, minutes });
  }

  start(): void {
    const delayMs = this.parts.settings.sweepIntervalMinutes * MS_PER_MINUTE;
    this.#cancel = this.parts.clock.after(delayMs, () => {
      this.#sweeping = this.#sweep().finally(() => {
        if (!this.#isStopped) this.start();
      });
    });
  }

  /** Resolves when no work is in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { sql, settings, log } = this.parts;
    try {
      for (let left = settings.sweepLimit; left > 0 && !this.#isStopped;) {
        const limit = Math.min(left, BATCH);
        const { seen, expired } = await claimExpiredThreads(WORKER, sql, limit);
        for (const thread of expired) await this.#end(thread);
        if (seen < limit) return;
        left -= seen;
      }
    } catch (error) {
      log.warn({ error: errorText(error) }, 'removing expired threads failed');
    }
  }

  async #end({ threadId, strategy }: ExpiredThread): Promise<void> {
    try {
      const end = async (inside: Sql): Promise<void> => {
        await lockThread(WORKER, inside, threadId);
        if (await hasActiveRun(WORKER, inside, threadId)) return;
        const ttl = await findThreadTtl(WORKER, inside, threadId);
        const now = await databaseTime(WORKER, inside);
        if (!ttl || new Date(ttl.expires_at) > now) return; // changed in the meantime
        if (strategy === 'delete') return removeThread(WORKER, inside, threadId);
        await pruneThread(WORKER, inside, threadId);
        await restThreadTtl(WORKER, inside, threadId);
      };
      await this.parts.sql.transaction(WORKER, end, { locks: threadId });
    } catch (error) {
      if (error instanceof PublicError && error.code === 'not_found') return; // a caller removed it
      if (postgresTrouble(error) === 'unavailable') throw error;
      // a thread that cannot be removed, for instance with too many states for a statement, does not stop the
      // others
      this.parts.log.warn(
        { threadId, error: errorText(error) },
        'removing an expired thread failed; retrying at the next sweep',
      );
    }
  }
}
