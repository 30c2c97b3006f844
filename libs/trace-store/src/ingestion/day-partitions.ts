import { type Connection, inTransaction, type Pool } from '#lib/postgres';
import { type Clock, dayOf, formatInstant, type Instant, instantOf, MICROS_PER_DAY } from '#lib/time';

const FIRST_DAY: Instant = 0n; // 1970-01-01
const LAST_DAY: Instant = 4_102_444_800_000_000n; // 2100-01-01

const PARTITIONED = ['runs', 'run_payloads'] as const;
const LOCK = 7_214_002;
/** Before 1970, and after 2099. */
const SHARED_PARTITIONS = 2;
/** Four years. Each day is two tables and two indexes, which a query over all days has to lock. */
const MAX_DAYS = 1500;
const RECENT = 7n * MICROS_PER_DAY;
/** More days than any one writer touches; the cache begins anew then. */
const MAX_KNOWN_DAYS = 10_000;

/** Makes daily partitions when the first run of a day arrives. */
export class DayPartitions {
  readonly #pool: Pool;
  readonly #clock: Clock;
  /** Most days that have partitions of their own. */
  readonly maxDays: number;
  readonly #known = new Set<Instant>();

  constructor(pool: Pool, clock: Clock, maxDays = MAX_DAYS) {
    this.#pool = pool;
    this.#clock = clock;
    this.maxDays = maxDays;
  }

  /**
   * Makes the partitions of these start times, as far as there is room.
   * @returns whether a start time has a partition: there is no room for every day that a clock can show
   */
  async ensure(times: Iterable<Instant>): Promise<(time: Instant) => boolean> {
    const missing = new Set<Instant>();
    for (const time of times) {
      const day = dayOf(time);
      // far years have two partitions from the start
      if (day >= FIRST_DAY && day < LAST_DAY && !this.#known.has(day)) missing.add(day);
    }
    const without = new Set<Instant>();
    for (const day of missing) if (!(await this.#create(day))) without.add(day);
    return (time) => !without.has(dayOf(time));
  }

  /** To be called when Postgres found no partition after all: one was dropped elsewhere. */
  forget(): void {
    this.#known.clear();
  }

  /** False when there is no room for it. */
  async #create(day: Instant): Promise<boolean> {
    const from = formatInstant(day);
    const to = formatInstant(day + MICROS_PER_DAY);
    const suffix = from.slice(0, 10).replaceAll('-', '');
    // Two makers of one day would fail on one another in the catalog in spite of IF NOT EXISTS, so they queue. ATTACH
    // instead of PARTITION OF: that would lock the whole table against the exports that are reading it.
    const isThere = await inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
      if (!(await this.#hasRoom(client, day, `${PARTITIONED[0]}_${suffix}`))) return false;
      for (const table of PARTITIONED) {
        const name = `${table}_${suffix}`;
        const found = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
          name,
        ]);
        if (found.rows[0]?.there) continue;
        await client.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL)`);
        await client.query(
          `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`,
        );
      }
      return true;
    });
    if (!isThere) return false;
    if (this.#known.size >= MAX_KNOWN_DAYS) this.#known.clear();
    this.#known.add(day);
    return true;
  }

  /** Runs of today must not be shut out by a client that sent one for each day of a century. */
  async #hasRoom(client: Connection, day: Instant, table: string): Promise<boolean> {
    const distance = day - dayOf(instantOf(this.#clock.now()));
    if (distance >= -RECENT && distance <= RECENT) return true;
    const found = await client.query<{ days: number; there: boolean }>(
      `SELECT count(*)::int AS days, to_regclass($1) IS NOT NULL AS there
      FROM pg_inherits WHERE inhparent = 'runs'::regclass`,
      [table],
    );
    const { days = 0, there = false } = found.rows[0] ?? {};
    return there || days - SHARED_PARTITIONS < this.maxDays;
  }
}
