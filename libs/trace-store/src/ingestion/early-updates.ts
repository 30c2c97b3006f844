import { setImmediate } from 'node:timers/promises';
import { runKey } from '../run/run-keys.js';
import type { RunPlace } from '../run/run-place.js';
import { parseWaiting } from './parse-batch.js';
import type { ParsedOperation } from './run-group.js';
import type { FoundPatch } from './waiting-patches.js';

/** Number of updates that are read before other requests are served. */
const READ_AT_ONCE = 200;

interface EarlyUpdate {
  readonly at: number;
  readonly patch: FoundPatch;
  readonly parsed: ParsedOperation;
}

/**
 * Updates that came before their runs, each read once: ten thousand of one id may wait while runs of that id are made in
 * as many traces.
 */
export class EarlyUpdates {
  /**
   * Updates by run and trace, or by run alone when they name no trace; each in the order in which they came.
   */
  readonly #waiting: Map<string, EarlyUpdate[]>;
  readonly #ended: FoundPatch[] = [];

  private constructor(updates: readonly EarlyUpdate[]) {
    this.#waiting = Map.groupBy(updates, ({ patch: { runId, traceId }, parsed: { change } }) => {
      const named = traceId ?? change.traceId;
      return named === undefined ? runId : runKey({ id: runId, traceId: named });
    });
  }

  /** @param found oldest first */
  static async read(found: readonly FoundPatch[]): Promise<EarlyUpdates> {
    const updates: EarlyUpdate[] = [];
    for (const [at, patch] of found.entries()) {
      if (at > 0 && at % READ_AT_ONCE === 0) await setImmediate();
      for (const parsed of await parseWaiting([patch])) updates.push({ at, patch, parsed });
    }
    return new EarlyUpdates(updates);
  }

  /** Updates that no longer wait. */
  get ended(): readonly FoundPatch[] {
    return this.#ended;
  }

  /** Takes the updates of a run that is being made, oldest first. Updates of another trace wait on. */
  take(place: RunPlace): readonly ParsedOperation[] {
    const taken: EarlyUpdate[] = [];
    for (const key of [place.id, runKey(place)]) {
      taken.push(...(this.#waiting.get(key) ?? []));
      this.#waiting.delete(key);
    }
    for (const { patch } of taken) this.#ended.push(patch);
    return taken
      .filter(({ patch }) => mayChange(patch, place))
      .sort((one, other) => one.at - other.at)
      .map(({ parsed }) => parsed);
  }
}

/** An update that came before its run changes it only if its sender may. */
function mayChange({ projectId }: FoundPatch, place: RunPlace): boolean {
  return projectId === undefined || projectId === place.projectId;
}
