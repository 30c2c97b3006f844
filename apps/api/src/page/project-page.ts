import { isParentMissing } from '../trace/render-run.js';
import { formatInstant } from '#lib/time';
import type { StoredRun } from '#lib/trace-store';
import { runPagePath } from '../trace/page-path.js';
import { escapeHtml } from './html.js';
import { renderDocument } from './page-document.js';
import { tookOf, useOf } from './run-item.js';
import { SIGN_OUT } from './sign-in-page.js';

/** The traces of a project that began last, with links to their pages. */
export function renderProjectPage(
  name: string,
  roots: readonly StoredRun[],
  cursor: string | undefined,
): Buffer {
  const next =
    cursor === undefined
      ? ''
      : `<p><a rel="next" href="?cursor=${encodeURIComponent(cursor)}">Earlier traces</a></p>`;
  const table = `<table><thead><tr><th>trace</th><th>began</th><th>took</th><th>used</th><th>status</th></tr></thead>
<tbody>${roots.map(({ row }) => rowOf(row)).join('\n')}</tbody></table>`;
  const main = `${SIGN_OUT}<h1>${escapeHtml(name)}</h1>
${roots.length === 0 ? '<p>There are no traces here.</p>' : table}
${next}`;
  return renderDocument(name, main);
}

function rowOf(row: StoredRun['row']): string {
  const state = row.status === 'error' ? '<span class="failed">error</span>' : escapeHtml(row.status);
  return `<tr><td><a href="${escapeHtml(runPagePath(row))}">${escapeHtml(row.name || row.id)}</a>${isParentMissing(row) ? ' (parent not received)' : ''}</td><td>${escapeHtml(formatInstant(row.startTime))}</td><td class="number">${tookOf(row)}</td><td class="number">${escapeHtml(useOf(row))}</td><td>${state}</td></tr>`;
}
