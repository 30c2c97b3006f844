import type { Informers, LeaderElector } from '#lib/kube';

/**
 * Stage of the program's life. It goes through these in their order and never back.
 *
 * - **schema**: the database is brought up to date
 * - **caches**: the first lists of all kinds arrive
 * - **leadership**: everything is there, another candidate leads
 * - **working**: this program leads and reconciles
 * - **stopping**: passes under way end, the lease is given back
 */
export type Stage = 'schema' | 'caches' | 'leadership' | 'working' | 'stopping';

/** The answer of `/readyz`. */
export interface ReadinessReport {
  /** True when the caches are complete: this program works, or would as soon as it leads. */
  readonly ready: boolean;
  readonly leading: boolean;
  /** Description of the dependency; null when it waits for nothing. */
  readonly waits_for: string | null;
}

/** Says whether the controller is ready, whether it leads, and what it waits for. */
export class Readiness {
  #stage: Stage = 'schema';

  constructor(
    private readonly informers: Pick<Informers, 'unsynced'>,
    private readonly leader: Pick<LeaderElector, 'isLeader' | 'holder'>,
  ) {}

  /** Ignored while the program stops: a start that is still in progress changes nothing any more. */
  enter(stage: Stage): void {
    if (this.#stage !== 'stopping') this.#stage = stage;
  }

  report(): ReadinessReport {
    const ready = this.#stage === 'leadership' || this.#stage === 'working';
    return { ready, leading: this.leader.isLeader, waits_for: this.#waitsFor() };
  }

  #waitsFor(): string | null {
    switch (this.#stage) {
      case 'schema':
        return 'the schema of the database';
      case 'caches':
        return `the first lists of ${this.informers.unsynced.join(', ')}`;
      case 'leadership': {
        const { holder } = this.leader;
        return holder === undefined ? 'leadership' : `leadership, which ${holder} holds`;
      }
      case 'working':
        return null;
      case 'stopping':
        return 'the passes under way, since the program is stopping';
      default:
        return this.#stage satisfies never;
    }
  }
}
