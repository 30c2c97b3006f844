import { Backoff } from '#lib/time';
import { Turns } from '../store/turns.js';
import { WORKER } from '../store/worker-scope.js';
import { GraphProcess, type GraphProcessParts } from './graph-process.js';

/** Runs that are tried again together in a separate host. */
interface Group {
  /** Start by the monotonic clock, in milliseconds. */
  readonly sinceMs: number;
  users: number;
  host: Promise<GraphProcess> | undefined;
  release: (() => void) | undefined;
}

/** Pauses after a host that did not start. */
const PAUSES = { firstMs: 100, longestMs: 10_000 };

/** A run that has not come back by then was cancelled, or another server has it. */
const FORGOTTEN_MS = 60 * 60_000;

/** A run's place in a host of its group. */
export interface QuarantinePlace {
  /** Rejects when the host does not start. */
  readonly host: Promise<GraphProcess>;
  /** @param isCleared the run has ended, and its host has not */
  leave(isCleared: boolean): void;
}

/**
 * Host for runs that were in a host when it ended, since one of them may have ended it.
 *
 * If there were several, none is to blame yet: they are divided into groups, as many as a group has
 * members, and tried again, a group at a time, in a host apart from those of other runs. A group whose host
 * ends again is divided again, so that after two or three times the culprit is alone; a run that was alone in
 * its host pays for the end with one of its attempts. The other runs lose only time.
 */
export class Quarantine {
  readonly #groups = new Map<string, Group>();
  readonly #turns = new Turns({ places: 1, maxWaiting: Infinity, what: 'Hosts of accused runs' });
  readonly #startPauses: Backoff;
  #ready: GraphProcess | undefined;

  constructor(private readonly parts: GraphProcessParts) {
    this.#startPauses = new Backoff(parts.clock, PAUSES);
  }

  /** The host of the group that is being tried; undefined while none has loaded. */
  get ready(): GraphProcess | undefined {
    return this.#ready;
  }

  /** The host of these runs ended; they come back as further attempts, or never. */
  accuse(runIds: readonly string[]): void {
    this.#forget();
    const size = Math.max(1, Math.floor(Math.sqrt(runIds.length)));
    for (let at = 0; at < runIds.length; at += size) {
      const group = this.#newGroup();
      for (const runId of runIds.slice(at, at + size)) this.#groups.set(runId, group);
    }
  }

  /** Number of runs to be tried again. */
  get size(): number {
    return this.#groups.size;
  }

  has(runId: string): boolean {
    return this.#groups.has(runId);
  }

  /** Waits until the run's group is tried, and shares its host. */
  enter(runId: string): QuarantinePlace {
    const group = this.#groups.get(runId) ?? this.#newGroup();
    this.#groups.set(runId, group);
    group.users++;
    group.host ??= this.#open(group);
    return {
      host: group.host,
      leave: (isCleared) => {
        if (isCleared && this.#groups.get(runId) === group) this.#groups.delete(runId);
        group.users--;
        if (group.users === 0) group.release?.();
      },
    };
  }

  #newGroup(): Group {
    const sinceMs = this.parts.clock.monotonicMs();
    return { sinceMs, users: 0, host: undefined, release: undefined };
  }

  /** Forgets old groups: a host may end many times under runs that never come back. */
  #forget(): void {
    const untilMs = this.parts.clock.monotonicMs() - FORGOTTEN_MS;
    for (const [runId, { sinceMs, users }] of this.#groups)
      if (users === 0 && sinceMs < untilMs) this.#groups.delete(runId);
  }

  #open(group: Group): Promise<GraphProcess> {
    return new Promise((resolve, reject) => {
      void this.#turns.take(WORKER, async () => {
        const over = new Promise<void>((done) => (group.release = done));
        if (group.users === 0) group.release?.(); // every run left while it waited
        let process: GraphProcess | undefined;
        try {
          process = new GraphProcess(this.parts);
          await Promise.race([process.loaded, over]); // a load may wait indefinitely, its runs may not
          this.#startPauses.reset();
          this.#ready = process;
          resolve(process);
        } catch (error) {
          // also where the machine has no memory or no descriptors for one; the runs come back at once
          await this.#startPauses.pause();
          reject(error);
        }
        await over;
        this.#ready = undefined;
        group.host = undefined;
        await process?.leave();
      });
    });
  }
}
