import { answerLine, askedLine } from '#lib/conversation';
import { escapeHtml, renderDocument, renderState, renderTable, renderTime } from '#lib/page';
import { formatInstant } from '#lib/time';
import type { Project, RunStatistics, StoredRun } from '#lib/trace-store';
import { runPagePath } from '../trace/page-path.js';
import { isParentMissing } from '../trace/run-fields.js';
import type { PageReader } from './page-readers.js';
import { readPayload } from './read-payload.js';
import { shortCost, tookOf, useOf } from './run-item.js';

/** Bytes of inputs or outputs that are read for a line of a list. */
const MAX_LINE_BYTES = 65_536;
/** Letters of that line. */
const MAX_LINE = 160;

/** A link to the next page of a list. */
export function nextLink(text: string, query: Readonly<Record<string, string>>): string {
  return `<p><a rel="next" href="?${escapeHtml(new URLSearchParams(query).toString())}">${text}</a></p>`;
}

/** A way from the start of the console to a page. */
export function renderTrail(...links: readonly (readonly [text: string, path: string])[]): string {
  const shown = links.map(([text, path]) => `<a href="${escapeHtml(path)}">${escapeHtml(text)}</a>`);
  return `<p class="trail">${shown.join(' › ')}</p>`;
}

/** Tracing projects, the newest first. */
export function renderProjectList(
  projects: readonly Project[],
  statistics: ReadonlyMap<string, RunStatistics>,
  { navigation, pathOf }: PageReader,
  { name, next }: { readonly name: string; readonly next: number | undefined },
): Buffer {
  const rows = projects.map(({ id, name: called, createdAt, referenceDatasetId }) => {
    const sums = statistics.get(id);
    return [
      `<a href="${escapeHtml(pathOf('projects', 'p', id))}">${escapeHtml(called)}</a>${referenceDatasetId === undefined ? '' : '<span class="kind">experiment</span>'}`,
      (sums?.counts.runs ?? 0).toLocaleString('en'),
      sums?.lastStartTime === undefined ? '' : renderTime(formatInstant(sums.lastStartTime)),
      Number(sums?.costs?.totalCost ?? 0) === 0 ? '' : `$${shortCost(sums?.costs?.totalCost ?? '0')}`,
      renderTime(createdAt.toISOString()),
    ];
  });
  const query = { ...(name === '' ? {} : { name_contains: name }), offset: String(next) };
  const main = `<h1>Projects</h1>
<form class="filter" method="get"><label>Part of the name <input name="name_contains" value="${escapeHtml(name)}" maxlength="200"></label><button>Find</button></form>
${rows.length === 0 ? '<p>There are no projects here. They come with the first trace.</p>' : renderTable('Projects', ['project', 'traces', 'last trace', 'cost', 'since'], rows)}
${next === undefined ? '' : nextLink('More projects', query)}`;
  return renderDocument('Projects', main, navigation);
}

/** The page of traces that was asked for. */
export interface TraceList {
  readonly filter: string;
  /** Words about a filter that cannot be read. */
  readonly problem: string | undefined;
  readonly roots: readonly StoredRun[];
  readonly cursor: string | undefined;
  /** The deployment whose traces these are. */
  readonly deployment: { readonly name: string; readonly path: string } | undefined;
}

/** The traces of a project that began last, with what was asked and answered, and links to their pages. */
export function renderTraceList(
  project: Pick<Project, 'id' | 'name' | 'referenceDatasetId'>,
  { filter, problem, roots, cursor, deployment }: TraceList,
  { navigation, pathOf }: PageReader,
): Buffer {
  const links: (readonly [string, string])[] = [
    ['all', '?'],
    ['failed', `?filter=${encodeURIComponent('eq(status, "error")')}`],
    ...(deployment ? [[`deployment ${deployment.name}`, deployment.path] as const] : []),
    ...(project.referenceDatasetId === undefined
      ? []
      : [['dataset', pathOf('datasets', project.referenceDatasetId)] as const]),
  ];
  const shown = links.map(([text, path]) => `<a href="${escapeHtml(path)}">${escapeHtml(text)}</a>`);
  const said =
    problem === undefined ? '' : `<p class="error" role="alert" id="problem">${escapeHtml(problem)}</p>`;
  const invalid = problem === undefined ? '' : ' aria-invalid="true" aria-describedby="problem"';
  const query = { ...(filter === '' ? {} : { filter }), cursor: cursor ?? '' };
  const none = filter === '' ? 'There are no traces here.' : 'No trace meets the filter.';
  const main = `${renderTrail(['Projects', pathOf('projects')])}<h1>${escapeHtml(project.name)}</h1>
<p class="actions">${shown.join(' ')}</p>
<form class="filter" method="get"><label>Filter, such as <code>search("refund")</code>, <code>gt(latency, 5)</code> or <code>eq(status, "error")</code>
<input name="filter" value="${escapeHtml(filter)}" maxlength="2000" spellcheck="false"${invalid}></label><button>Filter</button></form>
${said}
${roots.length > 0 ? traceTable(roots) : problem === undefined ? `<p>${none}</p>` : ''}
${cursor === undefined ? '' : nextLink(filter === '' ? 'Earlier traces' : 'More traces', query)}`;
  return renderDocument(project.name, main, navigation);
}

function traceTable(roots: readonly StoredRun[]): string {
  const rows = roots.map(({ row, payloads }) => {
    const thread = row.threadId;
    const ofThread = `?filter=${encodeURIComponent(`eq(thread_id, ${JSON.stringify(thread)})`)}`;
    return [
      `<a href="${escapeHtml(runPagePath(row))}">${escapeHtml(row.name || row.id)}</a>${isParentMissing(row) ? ' (parent not received)' : ''}`,
      lineOf(payloads.inputs, askedLine),
      row.status === 'error' ? errorLine(payloads.error) : lineOf(payloads.outputs, answerLine),
      renderTime(formatInstant(row.startTime)),
      tookOf(row),
      escapeHtml(useOf(row)),
      renderState(row.status, row.status === 'error' ? 'bad' : row.status === 'success' ? 'good' : 'plain'),
      thread === undefined ? '' : `<a href="${escapeHtml(ofThread)}">${escapeHtml(thread.slice(0, 8))}</a>`,
    ];
  });
  return renderTable(
    'Traces',
    ['trace', 'asked', 'answered', 'began', 'took', 'used', 'status', 'thread'],
    rows,
  );
}

/** One line of a payload; nothing of one that is long or is not JSON. */
function lineOf(payload: Buffer | undefined, read: (values: unknown) => string): string {
  const values = readPayload(payload, MAX_LINE_BYTES);
  return values === undefined ? '' : cutLine(read(values));
}

function errorLine(error: Buffer | undefined): string {
  return cutLine(error?.subarray(0, 1_000).toString().trim().split('\n', 1)[0] ?? '');
}

function cutLine(line: string): string {
  return escapeHtml(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line);
}
