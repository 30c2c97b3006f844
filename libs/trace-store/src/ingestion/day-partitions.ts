import { type Connection, inTransaction, type Pool } from '#lib/postgres';
import { dayOf, formatInstant, type Instant, MICROS_PER_DAY, parseInstant } from '#lib/time';
import { databaseNow } from '../limited-read.js';

/** Days, `from` inclusive, `to` exclusive; both midnights UTC. */
export interface DayRange {
  readonly from: Instant;
  readonly to: Instant;
}

/** Days before and after today that have a partition each. */
export const RECENT = 7n * MICROS_PER_DAY;
/** Older runs come in imports and are read rarely: their partitions are years. */
const OLD = 3n * 366n * MICROS_PER_DAY;

/** True when the day is one of those around today. */
function isRecent(day: Instant, today: Instant): boolean {
  return day >= today - RECENT && day <= today + RECENT;
}

/**
 * The days that share a partition with this one: itself alone around today, else those of its month, or of its year
 * when it is long past, as far as no other partition has them. So an import of years costs a few dozen partitions, and
 * a client that sends a run for each day of a century costs others nothing.
 * @param taken ranges of the partitions that exist; none holds the day
 */
export function partitionRange(day: Instant, today: Instant, taken: readonly DayRange[]): DayRange {
  if (isRecent(day, today)) return { from: day, to: day + MICROS_PER_DAY };
  let { from, to } = periodOf(day, day < today - OLD ? 'year' : 'month');
  // the days around today are left to partitions of their own
  if (day < today) to = earlier(to, today - RECENT);
  else from = later(from, today + RECENT + MICROS_PER_DAY);
  for (const other of taken) {
    if (other.to <= day) from = later(from, other.to);
    if (other.from > day) to = earlier(to, other.from);
  }
  return { from, to };
}

function periodOf(day: Instant, kind: 'year' | 'month'): DayRange {
  const text = formatInstant(day);
  const [year, month] = [Number(text.slice(0, 4)), Number(text.slice(5, 7))];
  return kind === 'year'
    ? { from: firstOf(year, 1), to: firstOf(year + 1, 1) }
    : { from: firstOf(year, month), to: month === 12 ? firstOf(year + 1, 1) : firstOf(year, month + 1) };
}

function firstOf(year: number, month: number): Instant {
  return midnight(`${year}${String(month).padStart(2, '0')}01`);
}

function midnight(digits: string): Instant {
  const text = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6, 8)}T00:00:00Z`;
  const instant = parseInstant(text, { zone: 'required' });
  if (instant === undefined) throw new Error(`reading the day ${digits} failed: it is no date`);
  return instant;
}

function earlier(one: Instant, other: Instant): Instant {
  return one < other ? one : other;
}

function later(one: Instant, other: Instant): Instant {
  return one > other ? one : other;
}

/** `20261122`, or `20261101_20261115` for more than a day; the end is exclusive. */
export function rangeSuffix({ from, to }: DayRange): string {
  const [first, end] = [from, to].map((day) => formatInstant(day).slice(0, 10).replaceAll('-', ''));
  return to - from === MICROS_PER_DAY ? `${first}` : `${first}_${end}`;
}

/** The range in a table's name; undefined for names of another form. */
export function rangeOfName(name: string): DayRange | undefined {
  const [, first, end] = /_(\d{8})(?:_(\d{8}))?$/.exec(name) ?? [];
  if (first === undefined) return undefined;
  const from = midnight(first);
  return { from, to: end === undefined ? from + MICROS_PER_DAY : midnight(end) };
}

const FIRST_DAY: Instant = 0n; // 1970-01-01
const LAST_DAY: Instant = 4_102_444_800_000_000n; // 2100-01-01

/**
 * Fill factor of pages by table: the update that ends a run then fits on the same page, and no index is
 * written again (HOT).
 */
const PARTITIONED = { runs: 75, run_payloads: 75, run_pairs: 100 } as const;

/** Tables that have a partition for the same days. */
export const DAY_TABLES = Object.keys(PARTITIONED);
/** Lock of processes that make or drop partitions. */
export const PARTITIONS_LOCK = 7_214_002;
/** Partitions of times that have not come yet: a client whose clock is wrong must not use up those of the next years. */
const MAX_MONTHS_AHEAD = 36;
/** Maximum number of cached days, more than any one writer touches; the cache begins anew then. */
const MAX_KNOWN_DAYS = 10_000;

/**
 * Makes partitions when the first run of their days arrives: daily ones around today, wider ones for times
 * long past or far ahead, so that no tenant can use up those that others need.
 */
export class DayPartitions {
  readonly #pool: Pool;
  /** Maximum number of partitions for times further ahead than a week. */
  readonly maxMonthsAhead: number;
  readonly #known = new Set<Instant>();

  constructor(pool: Pool, maxMonthsAhead = MAX_MONTHS_AHEAD) {
    this.#pool = pool;
    this.maxMonthsAhead = maxMonthsAhead;
  }

  /**
   * Makes the partitions of these start times, up to the limit.
   * @returns a function that is true for a start time with a partition: the number of months to come is
   * limited
   */
  async ensure(times: Iterable<Instant>): Promise<(time: Instant) => boolean> {
    const missing = new Set<Instant>();
    for (const time of times) {
      const day = dayOf(time);
      // far years have two partitions from the start
      if (day >= FIRST_DAY && day < LAST_DAY && !this.#known.has(day)) missing.add(day);
    }
    const without = new Set<Instant>();
    for (const day of missing)
      if (!this.#known.has(day) && !without.has(day))
        for (const refused of await this.#create(day, missing)) without.add(refused);
    return (time) => !without.has(dayOf(time));
  }

  /**
   * Clears the cache. It must be called when Postgres found no partition after all: one was dropped
   * elsewhere.
   */
  forget(): void {
    this.#known.clear();
  }

  /** @returns those of the days asked for that exceed the limit, when this one does */
  async #create(day: Instant, asked: ReadonlySet<Instant>): Promise<Iterable<Instant>> {
    // Two makers of one day would fail on one another in the catalog in spite of IF NOT EXISTS, so they queue.
    const { range, refused = [] } = await inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [PARTITIONS_LOCK]);
      const today = dayOf(await databaseNow(client));
      const taken = await takenRanges(client);
      const found = rangeWith(taken, day);
      // all at once: a batch may have thousands of such days, and others wait for the lock
      if (!found && !this.#hasRoom(day, today, taken))
        return {
          refused: [...asked].filter((one) => !rangeWith(taken, one) && !this.#hasRoom(one, today, taken)),
        };
      const wanted = found ?? partitionRange(day, today, taken);
      for (const [table, fillFactor] of Object.entries(PARTITIONED))
        await createPartition(client, table, wanted, fillFactor);
      return { range: wanted };
    });
    if (!range) return refused;
    if (this.#known.size >= MAX_KNOWN_DAYS) this.#known.clear();
    for (let each = range.from; each < range.to; each += MICROS_PER_DAY) this.#known.add(each);
    return [];
  }

  #hasRoom(day: Instant, today: Instant, taken: readonly DayRange[]): boolean {
    if (day < today || isRecent(day, today)) return true;
    return taken.filter(({ to }) => to > today + RECENT + MICROS_PER_DAY).length < this.maxMonthsAhead;
  }
}

function rangeWith(taken: readonly DayRange[], day: Instant): DayRange | undefined {
  return taken.find(({ from, to }) => from <= day && day < to);
}

async function takenRanges(client: Connection): Promise<readonly DayRange[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'runs'::regclass`,
  );
  return rows.flatMap(({ name }) => rangeOfName(name) ?? []);
}

/** ATTACH instead of PARTITION OF: that would lock the whole table against the exports that are reading it. */
async function createPartition(
  client: Connection,
  table: string,
  range: DayRange,
  fillFactor: number,
): Promise<void> {
  const name = `${table}_${rangeSuffix(range)}`;
  const found = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [name]);
  if (found.rows[0]?.there) return;
  await client.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) WITH (fillfactor = ${fillFactor})`);
  const [from, to] = [range.from, range.to].map((day) => formatInstant(day));
  await client.query(
    `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`,
  );
}
