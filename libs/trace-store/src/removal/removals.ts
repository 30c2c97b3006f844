import { eachStep } from '../limited-read.js';
import type { Pool } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { TraceEraser } from '../erasure/trace-eraser.js';
import { forgetOldErasures } from '../ingestion/erased-traces.js';
import { forgetOldDeletions } from '../project/project-deletions.js';
import type { RunRemover } from '../run/remove-runs.js';
import { dropEmptyDays, ExpiredRemoval } from './expired-removal.js';
import { ProjectRemoval } from './project-removal.js';
import { TenantRounds } from '../in-turns.js';

interface RemovalParts {
  readonly pool: Pool;
  readonly remover: RunRemover;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** All that removes runs: by name, with their projects, by age. */
export class Removals {
  readonly eraser: TraceEraser;
  readonly #erasures: TenantRounds;
  readonly #projects: TenantRounds;
  readonly #expired: TenantRounds;

  constructor(private readonly parts: RemovalParts) {
    const { pool, remover, log, clock } = parts;
    this.eraser = new TraceEraser(pool, remover, log);
    this.#erasures = new TenantRounds(this.eraser, log, clock);
    this.#projects = new TenantRounds(new ProjectRemoval(pool, remover, log), log, clock);
    this.#expired = new TenantRounds(new ExpiredRemoval(pool, remover, log), log, clock);
  }

  /** Begins the removal of a project's rows, after the project was deleted. */
  begin(): void {
    this.#projects.begin();
  }

  /** Completes removals that any process has begun, and removes expired runs. */
  async complete(): Promise<void> {
    const { pool, log } = this.parts;
    await eachStep([
      () => this.#erasures.complete(),
      () => forgetOldErasures(pool),
      () => this.#projects.complete(),
      () => forgetOldDeletions(pool),
      () => this.#expired.complete(),
      () => dropEmptyDays(pool, log),
    ]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#erasures.close(), this.#projects.close(), this.#expired.close()]);
  }
}
