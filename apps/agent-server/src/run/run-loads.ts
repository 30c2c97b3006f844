import type { RunLoad } from '#lib/lifecycle';
import type { Clock } from '#lib/time';
import { CoreUse } from './core-use.js';
import { countRunLoad } from '../store/run/count-run-load.js';
import type { ServerIdentity } from '../store/server-identity.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

/** Age up to which an answer is reused: any client may ask, as often as it likes. */
const FRESH_MS = 1_000;

export interface RunLoadParts {
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly worker: { readonly places: number };
  readonly clock: Clock;
}

/** Amount of work, for the autoscaler of the servers. */
export class RunLoads {
  #read: { readonly atMs: number; readonly load: Promise<RunLoad> } | undefined;

  readonly #cores: CoreUse;

  constructor(private readonly parts: RunLoadParts) {
    this.#cores = new CoreUse(parts.clock);
  }

  read(): Promise<RunLoad> {
    const atMs = this.parts.clock.monotonicMs();
    if (!this.#read || atMs - this.#read.atMs >= FRESH_MS) this.#read = { atMs, load: this.#count() };
    return this.#read.load;
  }

  async #count(): Promise<RunLoad> {
    const { sql, server, worker } = this.parts;
    const cores = this.#cores.read();
    const runs = await countRunLoad(WORKER, sql, server);
    return { ...runs, places: worker.places, ...(cores === undefined ? {} : { cores }) };
  }
}
