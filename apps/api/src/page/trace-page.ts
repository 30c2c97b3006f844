import { escapeHtml, type Navigation, renderDocument, renderTime } from '#lib/page';
import { formatInstant } from '#lib/time';
import type { StoredFeedback, StoredRun } from '#lib/trace-store';
import { RUN_FIELDS, selectFields } from '../trace/run-fields.js';
import { type RunFields } from '../trace/render-run.js';
import { MAX_PAGE, PageText, renderRuns, spanOf, tookOf, treeOf, useOf } from './run-item.js';

/** Runs of one page; a link leads to the next. */
export const PAGE_RUNS = 500;
/** Fields that are read for pages. */
export const PAGE_FIELDS: RunFields = selectFields(RUN_FIELDS, [
  'id',
  'inputs',
  'outputs',
  'extra',
  'error',
  'total_tokens',
]);
/** Memory of a page while it is made and sent: letters, then bytes. */
export const PAGE_BYTES = 4 * MAX_PAGE;

/** Contents of a page of a trace beside its runs. */
export interface TracePageOptions {
  /** Cursor of the next page. */
  readonly cursor: string | undefined;
  /** The requested run; the root by default. */
  readonly here?: string | undefined;
  /** Text before the title, escaped. */
  readonly above?: string;
  /** Links and buttons below the facts, escaped. */
  readonly actions?: string;
  readonly navigation?: Navigation | undefined;
  readonly feedback?: readonly StoredFeedback[];
}

/**
 * A trace for people: its steps in their order, their duration, inputs and outputs. It can be read without a
 * script too.
 */
export function renderTracePage(
  runs: readonly StoredRun[],
  { cursor, here, above = '', actions = '', navigation, feedback = [] }: TracePageOptions,
): Buffer {
  const roots = treeOf(runs);
  const first = roots[0]?.run;
  const title = first?.row.name ?? 'Trace';
  const next =
    cursor === undefined
      ? ''
      : `<p><a rel="next" href="?cursor=${encodeURIComponent(cursor)}">Next runs of the trace</a></p>`;
  const byRun = Map.groupBy(feedback, ({ runId }) => runId ?? '');
  const tree = renderRuns(roots, new PageText(spanOf(runs), here, byRun));
  const main = `${above}<h1>${escapeHtml(title)}</h1>
${first ? factsOf(first, runs, cursor !== undefined) : '<p>There are no runs here.</p>'}
${actions}${tree}${next}`;
  return renderDocument(title, main, navigation);
}

function factsOf({ row }: StoredRun, runs: readonly StoredRun[], hasMore: boolean): string {
  const failed = runs.filter((run) => run.row.status === 'error').length;
  const facts: readonly (readonly [string, string])[] = [
    ['status', row.status === 'error' ? '<span class="failed">error</span>' : escapeHtml(row.status)],
    ['took', tookOf(row)],
    ['began', renderTime(formatInstant(row.startTime))],
    ['used', escapeHtml(useOf(row))],
    ['runs', `${runs.length}${hasMore ? ' on this page' : ''}${failed > 0 ? `, ${failed} failed` : ''}`],
    ['thread', escapeHtml(row.threadId ?? '')],
  ];
  const shown = facts.filter(([, value]) => value !== '');
  return `<dl class="facts">${shown.map(([name, value]) => `<div><dt>${name}</dt> <dd>${value}</dd></div>`).join('')}</dl>`;
}
