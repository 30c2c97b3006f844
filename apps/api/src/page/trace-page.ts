import { formatInstant } from '#lib/time';
import type { StoredRun } from '#lib/trace-store';
import { RUN_FIELDS, type RunFields, selectFields } from '../trace/render-run.js';
import { escapeHtml, renderDocument } from './page-document.js';
import { MAX_PAGE, PageText, renderRuns, spanOf, tookOf, treeOf, useOf } from './run-item.js';

/** Runs of one page; a link leads to the next. */
export const PAGE_RUNS = 500;
/** Fields that are read for pages. */
export const PAGE_FIELDS: RunFields = selectFields(RUN_FIELDS, [
  'id',
  'inputs',
  'outputs',
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
}

/**
 * A trace for people: its steps in their order, their duration, inputs and outputs. It can be read without a
 * script too.
 */
export function renderTracePage(
  runs: readonly StoredRun[],
  { cursor, here, above = '' }: TracePageOptions,
): Buffer {
  const roots = treeOf(runs);
  const first = roots[0]?.run;
  const title = first?.row.name ?? 'Trace';
  const next =
    cursor === undefined
      ? ''
      : `<p><a rel="next" href="?cursor=${encodeURIComponent(cursor)}">Next runs of the trace</a></p>`;
  const tree = renderRuns(roots, new PageText(spanOf(runs), here));
  const main = `${above}<h1>${escapeHtml(title)}</h1>
${first ? factsOf(first, runs) : '<p>There are no runs here.</p>'}
${tree}${next}`;
  return renderDocument(title, main);
}

function factsOf({ row }: StoredRun, runs: readonly StoredRun[]): string {
  const failed = runs.filter((run) => run.row.status === 'error').length;
  const facts: readonly (readonly [string, string])[] = [
    ['status', row.status],
    ['took', tookOf(row)],
    [
      'began',
      formatInstant(row.startTime)
        .replace('T', ' ')
        .replace(/\.\d+Z$/, ' UTC'),
    ],
    ['used', useOf(row)],
    ['runs', `${runs.length}${failed > 0 ? `, ${failed} failed` : ''}`],
    ['thread', row.threadId ?? ''],
  ];
  const shown = facts.filter(([, value]) => value !== '');
  return `<dl class="facts">${shown.map(([name, value]) => `<div><dt>${name}</dt> <dd${value === 'error' ? ' class="failed"' : ''}>${escapeHtml(value)}</dd></div>`).join('')}</dl>`;
}
