import { RestError, type RestRequests } from '#lib/rest-client';
import { formatInstant, parseInstant } from '#lib/time';
import type { VerifiedExport, VerifiedRun, Findings } from './export-bucket.js';

/** Page size for runs and feedback, the largest that REST allows. */
const PAGE = 100;
/** A condition that holds for runs with feedback. Inside an `and` of its own, since conditions beside it are about its key. */
const HAS_FEEDBACK = 'and(like(feedback_key, "%"), eq(execution_order, 1))';

interface Page {
  readonly runs: readonly { readonly id: string }[];
  readonly cursors: { readonly next: string | null };
}

interface LateRuns {
  readonly days: readonly {
    readonly start_time: string;
    readonly late_runs: number | null;
    readonly unknown: string | null;
  }[];
}

/**
 * Compares the rows of each day with those that the trace store has now, by their number. After an export
 * runs may have come, changed or gone; for runs that an export of late runs must have, a later change is
 * taken into account.
 * @param countsFeedback true when feedback counts too, which takes two requests for a hundred runs with it
 */
export async function compareStore(
  found: VerifiedExport,
  runs: readonly VerifiedRun[],
  rest: RestRequests,
  { countsFeedback }: { readonly countsFeedback: boolean },
): Promise<Findings> {
  const ofRuns =
    found.late_runs_of_bulk_export_id === null
      ? await compareRows(found, runs, rest)
      : await compareLate(found, runs, found.late_runs_of_bulk_export_id, rest);
  if (!found.resources.includes('feedback') || !countsFeedback) return ofRuns;
  const ofFeedback = await compareFeedback(found, runs, rest);
  return {
    differences: [...ofRuns.differences, ...ofFeedback.differences],
    notCompared: [...ofRuns.notCompared, ...ofFeedback.notCompared],
  };
}

/**
 * Conditions for all of these. The end is the last microsecond of the day, since REST takes an end as
 * inclusive.
 */
function conditionsOf(found: VerifiedExport, { start_time, end_time }: VerifiedRun, filter: string | null) {
  const end = (parseInstant(end_time, { zone: 'optional' }) ?? 0n) - 1n;
  return { session: [found.session_id], start_time, end_time: formatInstant(end), filter };
}

async function compareRows(
  found: VerifiedExport,
  runs: readonly VerifiedRun[],
  rest: RestRequests,
): Promise<Findings> {
  return eachDay(runs, 'rows', async (run) => {
    const { run_count: stored } = await rest.request<{ readonly run_count: number }>(
      'POST',
      '/runs/stats',
      conditionsOf(found, run, found.filter),
    );
    if (stored === run.rows_exported) return undefined;
    return `${run.rows_exported} rows exported, the trace store has ${stored} now; runs that came or were removed later are such a difference`;
  });
}

async function compareFeedback(
  found: VerifiedExport,
  runs: readonly VerifiedRun[],
  rest: RestRequests,
): Promise<Findings> {
  const filter = found.filter === null ? HAS_FEEDBACK : `and(${found.filter}, ${HAS_FEEDBACK})`;
  return eachDay(runs, 'feedback', async (run) => {
    const { feedback_rows_written: rows } = run.metadata.result;
    const stored = await countFeedback(found, conditionsOf(found, run, filter), rest);
    if (stored === rows) return undefined;
    return `${rows} feedback exported, the trace store has ${stored} now; feedback that came or was removed later is such a difference`;
  });
}

async function countFeedback(found: VerifiedExport, wanted: object, rest: RestRequests): Promise<number> {
  let count = 0;
  let cursor: string | null | undefined;
  do {
    const body = { ...wanted, select: ['id'], limit: PAGE, cursor };
    const page: Page = await rest.request<Page>('POST', '/runs/query', body);
    if (page.runs.length > 0) count += await countFeedbackOf(found, page.runs, rest);
    cursor = page.cursors.next;
  } while (cursor !== null);
  return count;
}

async function countFeedbackOf(
  found: VerifiedExport,
  runs: Page['runs'],
  rest: RestRequests,
): Promise<number> {
  const query = new URLSearchParams({ session: found.session_id });
  for (const { id } of runs) query.append('run', id);
  for (let count = 0; ;) {
    const path = `/feedback?${query.toString()}&limit=${PAGE}&offset=${count}`;
    const { length } = await rest.request<readonly unknown[]>('GET', path);
    count += length;
    if (length < PAGE) return count;
  }
}

/**
 * An export of late runs has the late runs of the former export as they were: all that are late now, but those that came
 * or changed since, which are late runs of its own. Both are counted, the former's first, so that runs which come
 * meanwhile make no difference.
 */
async function compareLate(
  { id }: VerifiedExport,
  runs: readonly VerifiedRun[],
  former: string,
  rest: RestRequests,
): Promise<Findings> {
  const late = await lateRuns(rest, former);
  if (late === undefined)
    return {
      differences: [],
      notCompared: [`rows with the trace store: export ${former}, whose late runs they are, was deleted`],
    };
  const since = await lateRuns(rest, id);
  const findings = { differences: [] as string[], notCompared: [] as string[] };
  for (const { start_time: start, end_time: end, rows_exported: rows } of runs) {
    const day = `from ${start} to ${end}`;
    const [all, later] = [late.get(start), since?.get(start)];
    if (typeof all !== 'number')
      findings.notCompared.push(
        `rows ${day} with the trace store: late runs of export ${former} ${all ?? 'unknown'}`,
      );
    else if (rows > all)
      findings.differences.push(
        `${day}: ${rows} rows exported, export ${former} has ${all} late runs now; runs that were removed later are such a difference`,
      );
    else if (typeof later !== 'number')
      findings.notCompared.push(
        `rows ${day} with the trace store: ${rows} of ${all} late runs of export ${former} exported, those that came since ${later ?? 'unknown'}`,
      );
    else if (rows < all - later)
      findings.differences.push(
        `${day}: ${rows} rows exported, export ${former} has ${all} late runs now, ${later} of which came or changed since`,
      );
  }
  return findings;
}

/**
 * Numbers of late runs by the beginning of their day, or the reason why a number is unknown. Undefined when
 * the export does not exist.
 */
async function lateRuns(
  rest: RestRequests,
  id: string,
): Promise<ReadonlyMap<string, number | string> | undefined> {
  try {
    const { days } = await rest.request<LateRuns>('GET', `/api/v1/bulk-exports/${id}/late`);
    return new Map(
      days.map((day) => [
        day.start_time,
        day.late_runs ?? `are unknown: ${day.unknown?.replaceAll('_', ' ') ?? ''}`,
      ]),
    );
  } catch (error) {
    if (error instanceof RestError && error.status === 404) return undefined;
    throw error;
  }
}

/** @param compare returns the differences of a day */
async function eachDay(
  runs: readonly VerifiedRun[],
  what: string,
  compare: (run: VerifiedRun) => Promise<string | undefined>,
): Promise<Findings> {
  const findings = { differences: [] as string[], notCompared: [] as string[] };
  for (const run of runs) {
    const day = `from ${run.start_time} to ${run.end_time}`;
    try {
      const difference = await compare(run);
      if (difference !== undefined) findings.differences.push(`${day}: ${difference}`);
    } catch (error) {
      // counting takes too long, or the filter and one condition more are beyond the limits of a filter
      if (!(error instanceof RestError && error.status === 400)) throw error;
      findings.notCompared.push(`${what} ${day} with the trace store: ${error.message}`);
    }
  }
  return findings;
}
