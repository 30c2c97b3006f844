import { createHash } from 'node:crypto';
import { formatInstant } from '#lib/time';
import type { StoredRun } from '#lib/trace-store';
import { latency, RUN_FIELDS, type RunFields, selectFields } from '../trace/render-run.js';

/** Runs of one page; a link leads to the next. */
export const PAGE_RUNS = 100;
/** What is read for them. */
export const PAGE_FIELDS: RunFields = selectFields(RUN_FIELDS, ['id', 'inputs', 'outputs', 'error']);

/** Of a payload that is shown. */
const MAX_SHOWN = 20_000;
const MOST_LEVELS = 20;
const MOST_INDENTS = 20;
/** Letters of a page; runs behind them are shown without their payloads. */
const MAX_PAGE = 4_194_304;
/** What a page takes while it is made and sent: letters, then bytes. */
export const PAGE_BYTES = 4 * MAX_PAGE;

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
details { border-left: 2px solid #888; margin: .25rem 0; padding-left: .75rem; }
summary { cursor: pointer; padding: .25rem 0; }
summary:focus-visible, a:focus-visible { outline: 3px solid #06c; }
pre { background: #8881; overflow-x: auto; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.error { color: #b00020; font-weight: bold; }
.quiet { opacity: .75; }
${Array.from({ length: MOST_LEVELS }, (_, level) => `.l${level} { margin-left: ${level * 1.25}rem; }`).join('\n')}
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } .error { color: #ff8a80; } }
`;

/** Nothing but its own style: no script, no image, no frame, and no address of it to others. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
};

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text in an element or in a quoted attribute. Control characters, which HTML cannot hold, become U+FFFD. */
function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** A trace for people: what it did, in which order, how long it took, with what. Read without a script. */
export function renderTracePage(runs: readonly StoredRun[], cursor: string | undefined): Buffer {
  // parents before their children, as far as they are on this page
  const inOrder = runs.toSorted((a, b) => compare(a.row.dottedOrder, b.row.dottedOrder));
  const title = escapeHtml(inOrder[0]?.row.name ?? 'Trace');
  const next = cursor
    ? `<p><a rel="next" href="?cursor=${encodeURIComponent(cursor)}">Next runs</a></p>`
    : '';
  const text = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body>
<main>
<h1>${title}</h1>
${inOrder.length === 0 ? '<p>There are no runs here.</p>' : renderAll(inOrder)}
${next}
</main>
</body>
</html>
`;
  return Buffer.from(text);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function renderAll(runs: readonly StoredRun[]): string {
  let text = '';
  for (const run of runs) text += renderOne(run, text.length < MAX_PAGE);
  return text;
}

function renderOne({ row, payloads }: StoredRun, isShown: boolean): string {
  const level = Math.min(row.parentRunIds.length, MOST_LEVELS - 1);
  const seconds = latency(row);
  const took = seconds === null ? 'has not ended' : `${seconds.toFixed(3)} s`;
  const state = `<span class="${row.status === 'error' ? 'error' : 'quiet'}">${escapeHtml(row.status)}</span>`;
  const tokens = row.totalTokens === undefined ? '' : ` · ${row.totalTokens} tokens`;
  const start = formatInstant(row.startTime);
  return `<details class="l${level}"${row.isRoot ? ' open' : ''}>
<summary>${escapeHtml(row.name)} <span class="quiet">${escapeHtml(row.runType)} · ${took}${tokens} ·</span> ${state}</summary>
<p class="quiet">began <time datetime="${escapeHtml(start)}">${escapeHtml(start)}</time> · run ${escapeHtml(row.id)}</p>
${isShown ? sections(payloads) : '<p class="quiet">The page is full; read this run by /public/…/run.</p>'}</details>
`;
}

function sections({ error, inputs, outputs }: StoredRun['payloads']): string {
  return section('Error', error, false) + section('Inputs', inputs) + section('Outputs', outputs);
}

function section(name: string, bytes: Buffer | undefined, isJson = true): string {
  if (!bytes || bytes.length === 0) return '';
  const shown = bytes.subarray(0, MAX_SHOWN).toString();
  const isCut = bytes.length > MAX_SHOWN;
  const rest = isCut ? `<p class="quiet">the first ${MAX_SHOWN} of ${bytes.length} bytes</p>` : '';
  return `<h2>${name}</h2><pre tabindex="0">${escapeHtml(isJson ? indented(shown) : shown)}</pre>${rest}`;
}

/** Each value in a line of its own; numbers and texts stay as they came, since nothing is parsed. */
export function indented(json: string): string {
  let text = '';
  let level = 0;
  const newLine = (): string => `\n${'  '.repeat(Math.max(0, Math.min(level, MOST_INDENTS)))}`;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\]:,]|[^\s"{}[\]:,]+/gs)) {
    if (token === '}' || token === ']') {
      level--;
      text += newLine();
    }
    text += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') level++;
    if (token === '{' || token === '[' || token === ',') text += newLine();
    // brackets in brackets: the indents would be more than the values
    if (text.length > 4 * json.length + 100) return json;
  }
  return text;
}
