const DAY_MS = 24 * 60 * 60_000;

/** The wall clock of a time zone. Its times are Dates whose parts in UTC are those of the clock. */
export class WallClock {
  readonly #format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    const number = 'numeric';
    this.#format = new Intl.DateTimeFormat('en', {
      timeZone,
      hourCycle: 'h23',
      year: number,
      month: number,
      day: number,
      hour: number,
      minute: number,
      second: number,
    });
  }

  timeAt(moment: Date): Date {
    return new Date(moment.getTime() + this.#offsetMs(moment.getTime()));
  }

  /** The first moment at which the clock shows a time; of one that is left out, the first moment after it. */
  momentOf(time: Date): Date {
    const timeMs = time.getTime();
    const [before, after] = [this.#offsetMs(timeMs - DAY_MS), this.#offsetMs(timeMs + DAY_MS)];
    const [first, second] = [timeMs - before, timeMs - after];
    if (this.#offsetMs(first) === before) return new Date(first);
    if (this.#offsetMs(second) === after) return new Date(second);
    let [early, late] = [second, first]; // the clock is put forward between them
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (this.#offsetMs(middle) === before) early = middle;
      else late = middle;
    }
    return new Date(late);
  }

  #offsetMs(momentMs: number): number {
    const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.#format.formatToParts(momentMs)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(momentMs / 1000) * 1000;
  }
}
