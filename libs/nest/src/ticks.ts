import { Logger } from '@nestjs/common';
import { Cron, type SchedulerRegistry } from '@nestjs/schedule';

/** Marks a method that is called again and again. It takes nothing and may take its time. */
export type TickMethod = () => Promise<void>;

/**
 * Calls a method of a provider by `@nestjs/schedule`, on a cron expression in UTC. A tick is only an occasion
 * to look: due work is decided from resources and the database's time, so a tick that comes late or twice
 * does no harm.
 *
 * - never two calls at a time: one that is due while the former still runs is left out
 * - an error is logged under the tick's name, and the next call comes all the same
 * - its timer does not keep the process alive
 *
 * `Ticks` makes the first call at once, and waits at the end for the call in flight.
 */
export function Tick(name: string, cron: string) {
  return (target: object, key: string, descriptor: TypedPropertyDescriptor<TickMethod>): void => {
    const { value: call } = descriptor;
    if (!call) throw new Error(`tick ${name} is not a method`);
    descriptor.value = async function (this: unknown) {
      try {
        await call.call(this);
      } catch (error) {
        // the scheduler would log it without its name
        new Logger(`tick ${name}`).error(error);
      }
    };
    Cron(cron, { name, timeZone: 'UTC', waitForCompletion: true, unrefTimeout: true })(
      target,
      key,
      descriptor,
    );
  };
}

/** The ticks of a program, from its start to its end. Owned by the program like every other part. */
export class Ticks {
  readonly name = 'ticks';

  constructor(private readonly registry: SchedulerRegistry) {}

  /** Makes the first call of each; Nest's own start has set the clock for the later ones. */
  start(): void {
    for (const job of this.registry.getCronJobs().values()) void job.fireOnTick();
  }

  /** Begins no further call; resolves when those in flight have ended. */
  async stop(): Promise<void> {
    await Promise.all([...this.registry.getCronJobs().values()].map((job) => job.stop()));
  }
}
