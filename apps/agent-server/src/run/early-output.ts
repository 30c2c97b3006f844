import { isAfter, isNext, type Position } from '../log/position.js';
import type { StoredEvent } from '../store/row/run-event-row.js';

/** Limit per run; output beyond it is dropped and requested again once the reader reaches it. */
const MAX_CHARS = 4 * 1024 * 1024;

/** Live output of a run that arrived before the events preceding it: these come through the database. */
export class EarlyOutput {
  #events: StoredEvent[] = [];
  #chars = 0;

  /** The oldest. */
  get first(): StoredEvent | undefined {
    return this.#events[0];
  }

  add(event: StoredEvent): void {
    if (this.#chars > MAX_CHARS) return;
    this.#chars += event.data.length;
    this.#events.push(event);
  }

  /** Next event after a position, if it is here. Forgets the events that the position includes. */
  takeNext(last: Position | undefined): StoredEvent | undefined {
    if (last) while (this.first && !isAfter(this.first.position, last)) this.#shift();
    const { first } = this;
    if (!first) return undefined;
    const isItsTurn = last ? isNext(first.position, last) : first.position.n === 0;
    return isItsTurn ? this.#shift() : undefined;
  }

  #shift(): StoredEvent | undefined {
    const event = this.#events.shift();
    this.#chars -= event?.data.length ?? 0;
    return event;
  }
}
