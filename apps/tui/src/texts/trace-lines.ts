import type { RestRequests } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import {
  costText,
  errorLine,
  latencyText,
  type ReadRun,
  RUN_FIELDS,
  tokensText,
  treeRows,
} from '#lib/trace-tree';
import { displayWidth } from '../render/display-width.js';
import { oneLine } from '../render/fit.js';

/** Runs of one trace that are shown. */
const MOST_RUNS = 1_000;
const PAGE = 100;

interface Page {
  readonly runs: readonly ReadRun[];
  readonly cursors: { readonly next: string | null };
}

/** A trace as a tree: each run below its caller, with its time on one scale, latency, tokens, cost and error. */
export async function traceLines(
  traceId: string,
  { rest, clock }: { readonly rest: RestRequests | undefined; readonly clock: Clock },
): Promise<readonly string[]> {
  if (!rest) return ['no REST interface is known: start the dashboard with --data or --context'];
  const runs: ReadRun[] = [];
  let cursor: string | null = null;
  do {
    const wanted = { trace: traceId, select: RUN_FIELDS, limit: PAGE, order: 'asc' };
    const page: Page = await rest.request<Page>('POST', '/runs/query', {
      ...wanted,
      ...(cursor === null ? {} : { cursor }),
    });
    runs.push(...page.runs);
    cursor = page.cursors.next;
  } while (cursor !== null && runs.length < MOST_RUNS);
  const rows = treeRows(runs, clock.now().getTime());
  const width = Math.min(60, Math.max(4, ...rows.map(({ title }) => displayWidth(oneLine(title)))));
  const lines = rows.map(({ run, title, bar }) => {
    const name = oneLine(title);
    return [
      name + ' '.repeat(Math.max(0, width - displayWidth(name))),
      bar,
      latencyText(run.latency).padStart(9),
      tokensText(run).padStart(8),
      costText(run.total_cost).padStart(10),
      run.status === 'success' ? '' : `${run.status} ${errorLine(run)}`,
    ]
      .join('  ')
      .trimEnd();
  });
  const heading = `${'RUN'.padEnd(width)}  ${'WHEN'.padEnd(24)}  ${'TIME'.padStart(9)}  ${'TOKENS'.padStart(8)}  ${'COST'.padStart(10)}`;
  return [heading, ...lines, ...(cursor === null ? [] : [`… more than ${MOST_RUNS} runs`])];
}
