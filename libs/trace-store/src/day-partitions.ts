import type pg from 'pg';
import { type Micros, microsToIso } from './micros.js';
import { inTransaction } from './transaction.js';

const MICROS_PER_DAY = 86_400_000_000n;
const FIRST_DAY: Micros = 0n; // 1970-01-01
const LAST_DAY: Micros = 4_102_444_800_000_000n; // 2100-01-01

const PARTITIONED = ['runs', 'run_payloads'] as const;
const LOCK = 7_214_002;
/** More days than any one writer touches; the cache begins anew then. */
const MAX_KNOWN_DAYS = 10_000;

/** Midnight of the UTC day. */
function dayOf(time: Micros): Micros {
  const rest = time % MICROS_PER_DAY;
  return rest < 0n ? time - rest - MICROS_PER_DAY : time - rest;
}

/** Makes daily partitions when the first run of a day arrives. */
export class DayPartitions {
  readonly #pool: pg.Pool;
  readonly #known = new Set<Micros>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** After this, rows with these start times have a partition. */
  async ensure(times: Iterable<Micros>): Promise<void> {
    const missing = new Set<Micros>();
    for (const time of times) {
      const day = dayOf(time);
      // far years have two partitions from the start
      if (day >= FIRST_DAY && day < LAST_DAY && !this.#known.has(day)) missing.add(day);
    }
    for (const day of missing) await this.#create(day);
  }

  /** To be called when Postgres found no partition after all: somebody dropped one. */
  forget(): void {
    this.#known.clear();
  }

  async #create(day: Micros): Promise<void> {
    const from = microsToIso(day);
    const to = microsToIso(day + MICROS_PER_DAY);
    const suffix = from.slice(0, 10).replaceAll('-', '');
    // Two makers of one day would fail on one another in the catalog in spite of IF NOT EXISTS, so they queue. ATTACH
    // instead of PARTITION OF: that would lock the whole table against the exports that are reading it.
    await inTransaction(this.#pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
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
    });
    if (this.#known.size >= MAX_KNOWN_DAYS) this.#known.clear();
    this.#known.add(day);
  }
}
