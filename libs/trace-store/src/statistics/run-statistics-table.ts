import { type Connection, CopyBinaryWriter, type CopyPart } from '#lib/postgres';
import { dayOf, formatInstant, type Instant, parseInstant } from '#lib/time';
import { type CountedRun, Sums } from './sums.js';

/** Columns of the table `run_statistics`, called `s`. */
export const SUMS_COLUMNS = 's.project_id, s.hour, s.is_root, s.run_type, s.sums';

/** A row by `textTypes`. */
export interface SumsRow {
  readonly project_id: string;
  readonly hour: string;
  readonly is_root: string;
  readonly run_type: string;
  readonly sums: string;
}

/** Adds a row to those of its key; if an hour is given, to those of that one. */
export function addSumsRow(sums: KeyedSums, row: SumsRow, hour?: Instant): void {
  const key = {
    projectId: row.project_id,
    hour: hour ?? parseInstant(row.hour, { zone: 'optional' }) ?? 0n,
    isRoot: row.is_root === 't',
    runType: row.run_type,
  };
  sums.of(key).addEncoded(Buffer.from(row.sums.slice(2), 'hex'));
}

/** Times that a row of `run_statistics` is the sum of: those of one batch, an hour, a day. */
export const SPAN = { unfolded: 0, hour: 1, day: 2 } as const;

export const MICROS_PER_HOUR: Instant = 3_600_000_000n;

/** Key by which runs are summed. */
export interface StatisticsKey {
  readonly projectId: string;
  /** The beginning of the hour; of a day its first. */
  readonly hour: Instant;
  readonly isRoot: boolean;
  /** Type of the runs; empty for types that clients do not know. */
  readonly runType: string;
}

const RUN_TYPES = new Set(['chain', 'embedding', 'llm', 'parser', 'prompt', 'retriever', 'tool']);

/** True when runs of this type are summed apart from others. */
export function isSummedType(runType: string): boolean {
  return RUN_TYPES.has(runType);
}

/**
 * Type of a run for sums, of an expression in SQL: types with sums of their own, and one text for all others.
 */
export function summedTypeSql(runType: string): string {
  return `CASE WHEN ${runType} = ANY ('{${[...RUN_TYPES].join(',')}}') THEN ${runType} ELSE '' END`;
}

/** Later ones have years of five digits, which Postgres reads in another form; no run is stored so far ahead. */
const LAST_HOUR: Instant = BigInt(Date.UTC(9999, 11, 31, 23)) * 1000n;

/** The whole hour at or before the time, at most the last one of the year 9999. */
export function hourOf(time: Instant): Instant {
  if (time >= LAST_HOUR) return LAST_HOUR;
  const into = ((time % MICROS_PER_HOUR) + MICROS_PER_HOUR) % MICROS_PER_HOUR;
  return time - into;
}

/** A run with the values of its key. */
type KeyedRun = CountedRun & Pick<StatisticsKey, 'projectId' | 'isRoot' | 'runType'>;

interface KeyedEntry {
  readonly key: StatisticsKey;
  readonly sums: Sums;
}

function isSameKey(one: StatisticsKey, other: StatisticsKey): boolean {
  return (
    one.hour === other.hour &&
    one.runType === other.runType &&
    one.isRoot === other.isRoot &&
    one.projectId === other.projectId
  );
}

/** Sums by their keys. */
export class KeyedSums {
  readonly #byKey = new Map<string, KeyedEntry>();
  /** Runs of a batch are mostly of one key: its text need not be made for each. */
  #last: KeyedEntry | undefined;

  of(key: StatisticsKey): Sums {
    const last = this.#last;
    if (last && isSameKey(last.key, key)) return last.sums;
    const text = `${key.projectId} ${key.hour} ${key.isRoot} ${key.runType}`;
    let found = this.#byKey.get(text);
    if (!found) {
      found = { key, sums: new Sums() };
      this.#byKey.set(text, found);
    }
    this.#last = found;
    return found.sums;
  }

  addRun(row: KeyedRun, sign: 1 | -1): void {
    const { projectId, startTime, isRoot, runType } = row;
    const type = isSummedType(runType) ? runType : '';
    this.of({ projectId, hour: hourOf(startTime), isRoot, runType: type }).addRun(row, sign);
  }

  /** Sums that are not all zeros. */
  entries(): { readonly key: StatisticsKey; readonly sums: Sums }[] {
    return [...this.#byKey.values()].filter(({ sums }) => !sums.isNothing());
  }

  /** Projects and hours that there are sums of, zeros too. */
  periods(): Pick<StatisticsKey, 'projectId' | 'hour'>[] {
    const periods = [...this.#byKey.values()].map(
      ({ key }) => [`${key.projectId} ${key.hour}`, key] as const,
    );
    return [...new Map(periods).values()];
  }

  /** Sums of a project alone. */
  ofProject(projectId: string): KeyedSums {
    const own = new KeyedSums();
    for (const [text, entry] of this.#byKey)
      if (entry.key.projectId === projectId) own.#byKey.set(text, entry);
    return own;
  }

  /** Sums that subtract these. */
  negated(): KeyedSums {
    const negative = new KeyedSums();
    for (const { key, sums } of this.#byKey.values()) negative.of(key).add(sums, -1);
    return negative;
  }

  /** The same by days. */
  byDay(): KeyedSums {
    const days = new KeyedSums();
    for (const { key, sums } of this.#byKey.values()) days.of({ ...key, hour: dayOf(key.hour) }).add(sums);
    return days;
  }
}

/** Inserts rows; sums that are all zeros are left out. @returns the number of rows */
export async function insertSums(
  client: Connection,
  tenantId: string,
  sums: KeyedSums,
  span: (typeof SPAN)[keyof typeof SPAN],
): Promise<number> {
  const entries = sums.entries();
  if (entries.length === 0) return 0;
  await client.query(
    `INSERT INTO run_statistics (tenant_id, project_id, hour, is_root, run_type, span, sums)
    SELECT $1, k.project_id, k.hour, k.is_root, k.run_type, $2, k.sums
    FROM unnest($3::uuid[], $4::timestamptz[], $5::boolean[], $6::text[], $7::bytea[])
      AS k(project_id, hour, is_root, run_type, sums)`,
    [
      tenantId,
      span,
      entries.map(({ key }) => key.projectId),
      entries.map(({ key }) => formatInstant(key.hour)),
      entries.map(({ key }) => key.isRoot),
      entries.map(({ key }) => key.runType),
      entries.map(({ sums: one }) => one.encode()),
    ],
  );
  return entries.length;
}

const COLUMNS = ['tenant_id', 'project_id', 'hour', 'is_root', 'run_type', 'span', 'sums'] as const;

/** Rows to be added for runs that are inserted in the same transaction. */
export function newSumsRows(tenantId: string, runs: readonly KeyedRun[]): CopyPart {
  const sums = new KeyedSums();
  for (const run of runs) sums.addRun(run, 1);
  const rows = new CopyBinaryWriter();
  for (const { key, sums: one } of sums.entries())
    rows
      .row(COLUMNS.length)
      .uuid(tenantId)
      .uuid(key.projectId)
      .time(key.hour)
      .bool(key.isRoot)
      .text(key.runType)
      .int2(SPAN.unfolded)
      .bytes(one.encode());
  return { table: 'run_statistics', columns: COLUMNS, rows };
}

/**
 * Adds the difference that a change of runs makes, in the transaction that changes them. Their keys are
 * locked by the caller, so each difference is that of one change to the next.
 * @param before rows as they were before an update or a deletion
 * @param after rows as an update leaves them
 * @returns the number of added rows
 */
export function recordChange(
  client: Connection,
  tenantId: string,
  before: readonly KeyedRun[],
  after: readonly KeyedRun[],
): Promise<number> {
  const sums = new KeyedSums();
  for (const row of before) sums.addRun(row, -1);
  for (const row of after) sums.addRun(row, 1);
  return insertSums(client, tenantId, sums, SPAN.unfolded);
}
