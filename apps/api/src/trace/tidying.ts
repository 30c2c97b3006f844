import { Tick } from '#lib/nest';
import type { TraceStore } from '#lib/trace-store';

const EVERY_TEN_MINUTES = '*/10 * * * *';

/** Lets the store drop data that has waited too long, judged by the database's time. */
export class Tidying {
  constructor(private readonly store: Pick<TraceStore, 'tidy'>) {}

  @Tick('tidying', EVERY_TEN_MINUTES)
  async tidy(): Promise<void> {
    await this.store.tidy();
  }
}
