import type { SchedulerRegistry } from '@nestjs/schedule';

/** The ticks of a program, from its start to its end. Owned by the program like every other part. */
export class Ticks {
  readonly name = 'ticks';
  readonly #registry: SchedulerRegistry;

  constructor(registry: SchedulerRegistry) {
    this.#registry = registry;
  }

  /** Makes the first call of each; Nest's own start has set the clock for the later ones. */
  start(): void {
    for (const job of this.#registry.getCronJobs().values()) void job.fireOnTick();
  }

  /** Begins no further call; resolves when those in flight have ended. */
  async stop(): Promise<void> {
    await Promise.all([...this.#registry.getCronJobs().values()].map((job) => job.stop()));
  }
}
