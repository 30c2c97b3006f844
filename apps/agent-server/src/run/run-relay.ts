import { Batch } from '../store/batch.js';
import { appendRunEvents } from '../store/event/append-run-events.js';
import type { RelayedEvent } from '../store/row/run-event-row.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';

const MAX_EVENTS = 500;

/** Output of runs here on its way to readers at other servers; keeps the order of calls. */
export class RunRelay {
  readonly #appends: Batch<RelayedEvent, void>;

  constructor(sql: Sql) {
    this.#appends = new Batch<RelayedEvent, void>(async (events) => {
      await appendRunEvents(WORKER, sql, events);
      return () => undefined;
    }, MAX_EVENTS);
  }

  append(event: RelayedEvent): Promise<void> {
    return this.#appends.add(event);
  }
}
