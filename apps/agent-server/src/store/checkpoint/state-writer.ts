import { mayPass } from '#lib/postgres';
import { Batch } from '../batch.js';
import type { Sql } from '../sql.js';
import { WORKER } from '../worker-scope.js';
import { putCheckpoint, putStates, putWrites, type StateWrite } from './put-states.js';

/** Limit per statement; a larger checkpoint goes alone. */
const MAX_STATEMENT_BYTES = 4 * 1024 * 1024;

/**
 * Keeps checkpoints and writes of all runs of a process: those that come in while a statement is in flight
 * share the next one and its commit. A write that fails in a batch is tried alone, where it waits for the
 * holder of its run and fails by itself.
 */
export class StateWriter {
  readonly #batch: Batch<StateWrite, boolean | Promise<boolean>>;

  constructor(readonly sql: Sql) {
    this.#batch = new Batch((states) => this.#putAll(states), {
      maxBytes: MAX_STATEMENT_BYTES,
      bytesOf,
    });
  }

  /** Answers false when another attempt has the run. */
  async put(state: StateWrite): Promise<boolean> {
    return this.#batch.add(state);
  }

  async #putAll(states: readonly StateWrite[]): Promise<(state: StateWrite) => boolean | Promise<boolean>> {
    const together = ofOneAttempt(states);
    try {
      const kept = await putStates(WORKER, this.sql, [...together]);
      return (state) => (together.has(state) && kept.has(state.fence.runId)) || this.#putAlone(state);
    } catch (error) {
      if (mayPass(error)) throw error;
      return (state) => this.#putAlone(state);
    }
  }

  #putAlone(state: StateWrite): Promise<boolean> {
    return state.kind === 'checkpoint'
      ? putCheckpoint(WORKER, this.sql, state.fence, state.dumped)
      : putWrites(WORKER, this.sql, state.fence, state.dumped);
  }
}

/** An attempt that was overtaken in this very process may still write: one statement knows one attempt of a run. */
function ofOneAttempt(states: readonly StateWrite[]): ReadonlySet<StateWrite> {
  const attempts = new Map(states.map(({ fence }) => [fence.runId, fence.attempt]));
  return new Set(states.filter(({ fence }) => attempts.get(fence.runId) === fence.attempt));
}

function bytesOf(state: StateWrite): number {
  if (state.kind === 'writes') return state.dumped.writes.reduce((sum, { blob }) => sum + blob.length, 0);
  const { checkpoint, metadata, blobs } = state.dumped;
  return blobs.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), checkpoint.length + metadata.length);
}
