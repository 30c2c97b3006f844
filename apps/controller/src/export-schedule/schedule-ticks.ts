import type { Reader, Source } from '#lib/kube';
import { type BulkExport, isDeleting, keyOf, type ObjectKey } from '#lib/resources';
import { Tick } from '#lib/ticks';
import { isFinished, isSchedule } from '../bulk-export/export-phase.js';

const EVERY_TEN_SECONDS = '*/10 * * * * *';

/**
 * Has every live schedule looked at, again and again. Which window is due follows from the database's time: a clock that
 * was set, or a machine that slept, is noticed at the next tick, whatever a timer was told before.
 */
export class ScheduleTicks implements Source {
  readonly #exports: Pick<Reader<BulkExport>, 'list'>;
  #enqueue: (key: ObjectKey) => void = () => {};

  constructor(exports: Pick<Reader<BulkExport>, 'list'>) {
    this.#exports = exports;
  }

  feed(enqueue: (key: ObjectKey) => void): () => void {
    this.#enqueue = enqueue;
    return () => {
      this.#enqueue = () => {};
    };
  }

  @Tick('export schedules', EVERY_TEN_SECONDS)
  async look(): Promise<void> {
    for (const one of this.#exports.list())
      if (isSchedule(one) && !isFinished(one) && !isDeleting(one)) this.#enqueue(keyOf(one));
  }
}
