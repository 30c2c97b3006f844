import { setImmediate } from 'node:timers/promises';
import { PublicError } from '#lib/errors';
import { type Connection, textTypes } from '#lib/postgres';
import { dayOf, formatInstant, type Instant, MICROS_PER_DAY } from '#lib/time';
import { SPAN } from './run-statistics-table.js';
import { runsOf } from './sums.js';
import { SUMS_COLUMNS, type SumsRow } from './sums-row.js';

/** Whole hours; without an end all that there are. */
export interface Hours {
  readonly from: Instant | undefined;
  /** Exclusive. */
  readonly to: Instant | undefined;
}

/** Years from here on have five digits, which Postgres reads in another form; nothing is stored so far ahead. */
const TOO_LATE: Instant = BigInt(Date.UTC(10_000, 0)) * 1000n;

function dayText(day: Instant): string {
  return day < TOO_LATE ? formatInstant(day) : 'infinity';
}

/** Rows that are held at a time. */
const ROWS_AT_ONCE = 50;
/** Read for one answer: decoding them is the work of this process. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Days for the whole days of the range, hours at the ends, and the rows that are not folded: in one
 * statement, so of one moment.
 * @param columns of the table, called `s`
 */
function rowsQuery(
  columns: string,
  { from, to }: Hours,
): { readonly text: string; readonly times: readonly string[] } {
  const firstDay = from === undefined ? undefined : dayOf(from + MICROS_PER_DAY - 1n);
  const lastDay = to === undefined ? undefined : dayOf(to);
  const hasDays = firstDay === undefined || lastDay === undefined || firstDay < lastDay;
  const times = [
    from === undefined ? '-infinity' : formatInstant(from),
    to === undefined ? 'infinity' : formatInstant(to),
    firstDay === undefined ? '-infinity' : dayText(firstDay),
    lastDay === undefined ? 'infinity' : formatInstant(lastDay),
  ];
  const between = (span: number, [first, last]: readonly [number, number]): string =>
    `SELECT ${columns} FROM run_statistics s
    WHERE s.tenant_id = $1 AND s.project_id = ANY ($2::uuid[]) AND s.span = ${span}
      AND s.hour >= $${first}::timestamptz AND s.hour < $${last}::timestamptz`;
  const parts = hasDays
    ? [between(SPAN.day, [5, 6]), between(SPAN.hour, [3, 5]), between(SPAN.hour, [6, 4])]
    : [between(SPAN.hour, [3, 4])];
  parts.push(between(SPAN.unfolded, [3, 4]));
  return { text: parts.join(' UNION ALL '), times: hasDays ? times : times.slice(0, 2) };
}

/**
 * Visits the sums of some projects. In a transaction, whose snapshot the caller may share with other statements.
 * @throws PublicError bad_request when they are too many
 */
export async function readSums(
  client: Connection,
  tenantId: string,
  projectIds: readonly string[],
  hours: Hours,
  visit: (row: SumsRow) => void,
): Promise<void> {
  const { text, times } = rowsQuery(SUMS_COLUMNS, hours);
  await client.query(`DECLARE sums NO SCROLL CURSOR FOR ${text}`, [tenantId, projectIds, ...times]);
  let bytes = 0;
  for (;;) {
    const { rows } = await client.query<SumsRow>({
      text: `FETCH ${ROWS_AT_ONCE} FROM sums`,
      types: textTypes,
    });
    for (const row of rows) {
      // a full row takes 20 ms
      await setImmediate();
      bytes += row.sums.length / 2;
      visit(row);
    }
    if (rows.length < ROWS_AT_ONCE) break;
    if (bytes > MAX_BYTES)
      throw new PublicError(
        'bad_request',
        'These projects have statistics of too many hours to be added at once: ask for fewer projects or a shorter time',
      );
  }
  await client.query('CLOSE sums');
}

/** Bytes of the longest number of runs, which the sums of a row begin with. */
const COUNT_BYTES = 10;

/**
 * Number of runs of a project in some hours; any number of hours, since only the beginning of each row is
 * read.
 */
export async function readRunCount(
  client: Connection,
  tenantId: string,
  projectId: string,
  hours: Hours,
): Promise<number> {
  const { text, times } = rowsQuery(`substring(s.sums FROM 1 FOR ${COUNT_BYTES}) AS sums`, hours);
  const { rows } = await client.query<{ sums: string }>({
    text,
    values: [tenantId, [projectId], ...times],
    types: textTypes,
  });
  let runs = 0n;
  for (const { sums } of rows) runs += runsOf(Buffer.from(sums.slice(2), 'hex'));
  return Number(runs);
}
