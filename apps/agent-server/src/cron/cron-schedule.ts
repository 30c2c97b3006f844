import { Cron } from 'croner';
import { errorText } from '#lib/errors';
import type { CronTiming } from '../store/row/cron-row.js';

const DAY_MS = 24 * 60 * 60_000;

/** The wall clock of a time zone. Its times are Dates whose parts in UTC are those of the clock. */
class WallClock {
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

/** Fires that are examined for the smallest interval. */
const LOOK_AHEAD = 100;

/** Limit of a schedule and a time zone: every fire reads them. */
const MAX_LENGTH = 1_000;

/** Fires after it begin at midnight. */
const MIDNIGHT = new Date(-1);
const LAST_HOUR_MS = 23 * 60 * 60_000;

const NICKNAME = /^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$/i;

/** The problem of one field. */
export interface TimingProblem {
  readonly field: 'schedule' | 'timezone';
  readonly message: string;
}

function parse(schedule: string, timezone = 'UTC'): Cron {
  return new Cron(schedule, { paused: true, timezone });
}

/** Answers whether a schedule names all hours of the day. */
function isOfEveryHour(schedule: string): boolean {
  if (NICKNAME.test(schedule.trim())) return /hourly/i.test(schedule);
  const hour = schedule.trim().split(/\s+/).at(-4);
  return parse(`0 0 ${hour} * * *`).nextRuns(24, MIDNIGHT).at(-1)?.getTime() === LAST_HOUR_MS;
}

/**
 * Problem of a schedule; undefined when it is valid.
 * @param from the database's time
 */
export function findTimingProblem(
  timing: CronTiming,
  from: Date,
  minIntervalSeconds: number,
): TimingProblem | undefined {
  const { schedule, timezone } = timing;
  for (const field of ['schedule', 'timezone'] as const)
    if ((timing[field]?.length ?? 0) > MAX_LENGTH)
      return { field, message: `is longer than ${MAX_LENGTH} characters` };
  if (timezone !== undefined && !isTimeZone(timezone))
    return { field: 'timezone', message: `${JSON.stringify(timezone)} is not the name of a time zone` };
  const fields = schedule.trim().split(/\s+/).length;
  if (fields !== 5 && fields !== 6 && !NICKNAME.test(schedule.trim()))
    return {
      field: 'schedule',
      message: `has ${fields} fields; a schedule has five, or six with seconds first`,
    };
  try {
    const fires = parse(schedule).nextRuns(LOOK_AHEAD, from);
    if (fires.length === 0) return { field: 'schedule', message: 'never fires' };
    const leastMs = fires.reduce(
      (least, fire, at) =>
        Math.min(least, at === 0 ? least : fire.getTime() - (fires[at - 1]?.getTime() ?? 0)),
      Infinity,
    );
    if (leastMs >= minIntervalSeconds * 1000) return undefined;
    const message = `fires every ${leastMs / 1000} s, and ${minIntervalSeconds} s is the least; CRON_MIN_INTERVAL_SECONDS of the deployment sets that`;
    return { field: 'schedule', message };
  } catch (error) {
    return {
      field: 'schedule',
      message: `cannot be read: ${errorText(error).replace(/^CronPattern: /, '')}`,
    };
  }
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * A schedule of every hour follows time as it passes. One that names hours fires by the clock on the wall, at each of its
 * times once: the library does so for a single hour and minute alone, and repeats or leaves out lists of them.
 */
function fireAfter({ schedule, timezone = 'UTC' }: CronTiming, after: Date): Date | undefined {
  if (isOfEveryHour(schedule)) return parse(schedule, timezone).nextRun(after) ?? undefined;
  const [cron, clock] = [parse(schedule), new WallClock(timezone)];
  for (let time = cron.nextRun(clock.timeAt(after)); time; time = cron.nextRun(time)) {
    const moment = clock.momentOf(time);
    if (moment > after) return moment;
  }
  return undefined;
}

/** The first fire after a moment; undefined when no fire is left before the end. */
export function nextFire(timing: CronTiming, after: Date): Date | undefined {
  const next = fireAfter(timing, after);
  return next && timing.endTime && next > timing.endTime ? undefined : next;
}
