import { readMessages } from '#lib/conversation';
import { escapeHtml, renderMessages, renderTime, TextBudget } from '#lib/page';
import { formatInstant, type Instant } from '#lib/time';
import type { StoredFeedback, StoredRun } from '#lib/trace-store';
import { isParentMissing, latency } from '../trace/run-fields.js';
import { membersIn, readPayload } from './read-payload.js';

const MOST_INDENTS = 20;

/**
 * Indents JSON with each value in a line of its own; numbers and texts stay as they came, since nothing is
 * parsed.
 */
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

/** A run with those below it, in the order of the trace. */
interface RunNode {
  readonly run: StoredRun;
  readonly below: readonly RunNode[];
}

/** Time range of all runs. */
interface Span {
  readonly start: Instant;
  readonly end: Instant;
}

/** Levels that are nested; browsers stop at a few hundred elements within one another. */
const MOST_LEVELS = 40;

interface OpenNode extends RunNode {
  readonly below: OpenNode[];
  readonly level: number;
}

/** Runs below their parents; a run whose parent is on another page is put beside the first one. */
export function treeOf(runs: readonly StoredRun[]): readonly RunNode[] {
  const roots: OpenNode[] = [];
  const byId = new Map<string, OpenNode>();
  for (const run of runs.toSorted((a, b) => compare(a.row.dottedOrder, b.row.dottedOrder))) {
    const parent = byId.get(run.row.parentRunId ?? '');
    // too deep: beside its parent
    const node: OpenNode = { run, below: [], level: Math.min((parent?.level ?? 0) + 1, MOST_LEVELS) };
    byId.set(run.row.id, parent && parent.level === MOST_LEVELS ? { ...node, below: parent.below } : node);
    (parent ? parent.below : roots).push(node);
  }
  return roots;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function spanOf(runs: readonly StoredRun[]): Span {
  let [start, end] = [runs[0]?.row.startTime ?? 0n, runs[0]?.row.startTime ?? 0n];
  for (const { row } of runs) {
    const last = row.endTime ?? row.startTime;
    if (row.startTime < start) start = row.startTime;
    if (last > end) end = last;
  }
  return { start, end };
}

/** Maximum number of letters of a payload that is shown. */
const MAX_SHOWN = 20_000;
/** Letters of a page; runs behind them are shown without their payloads. */
export const MAX_PAGE = 4_194_304;
const KINDS = new Set(['llm', 'tool']);
/** Bytes of a payload in which messages are looked for. */
const MAX_READ_BYTES = 262_144;
/** Units of the bar. */
const WIDTH = 1_000;
const LEAST = 4;

/** The part of a trace that one page shows, and the number of letters that are written already. */
export class PageText {
  #letters = 0;
  readonly markdown = new TextBudget();

  constructor(
    readonly span: Span,
    /** The requested run. */
    readonly here: string | undefined,
    readonly feedback: ReadonlyMap<string, readonly StoredFeedback[]>,
  ) {}

  get isFull(): boolean {
    return this.#letters > MAX_PAGE;
  }

  count(text: string): string {
    this.#letters += text.length;
    return text;
  }
}

/** A list of runs with those below them. */
export function renderRuns(nodes: readonly RunNode[], page: PageText): string {
  if (nodes.length === 0) return '';
  return `<ul class="runs">${nodes.map((node) => renderNode(node, page)).join('')}</ul>`;
}

function renderNode({ run, below }: RunNode, page: PageText): string {
  const { row } = run;
  const isHere = row.id === page.here || (page.here === undefined && row.isRoot);
  const head = page.count(summary(run, page.span));
  const body = page.isFull
    ? '<p>The page is full; read this run by the REST interface.</p>'
    : page.count(details(run, isHere, page));
  return `<li id="run-${escapeHtml(row.id)}"><details class="run${isHere ? ' here' : ''}" open>${head}<div class="body">${body}</div>${renderRuns(below, page)}</details></li>\n`;
}

function summary({ row }: StoredRun, span: Span): string {
  const isFailed = row.status === 'error';
  const kind = `<span class="kind">${escapeHtml(row.runType)}</span>`;
  const state = isFailed ? ' <span class="failed">failed</span>' : '';
  const missing = isParentMissing(row) ? ' <span class="kind">parent not received</span>' : '';
  return `<summary><span class="name">${escapeHtml(row.name)}${kind}${missing}${state}</span>${bar(row, span)}<span class="took">${tookOf(row)}</span><span class="use">${escapeHtml(useOf(row))}</span></summary>`;
}

/** Bar as text: styles of elements are not let in. */
function bar(row: StoredRun['row'], { start, end }: Span): string {
  const whole = Number(end - start) || 1;
  const from = Math.round((Number(row.startTime - start) / whole) * WIDTH);
  const to = row.endTime === undefined ? WIDTH : (Number(row.endTime - start) / whole) * WIDTH;
  const width = Math.max(LEAST, Math.round(to) - from);
  const x = Math.max(0, Math.min(from, WIDTH - width));
  const kind = row.status === 'error' ? 'error' : KINDS.has(row.runType) ? row.runType : '';
  const lasts = row.endTime === undefined ? ' pending' : '';
  return `<svg class="bar ${kind}${lasts}" viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="${WIDTH}" height="10" rx="5"/><rect class="time" x="${x}" width="${width}" height="10" rx="5"/></svg>`;
}

/** Duration of a run, for people. */
export function tookOf(row: StoredRun['row']): string {
  const seconds = latency(row);
  if (seconds === null) return row.status === 'pending' ? 'running' : '';
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(2)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** Tokens and costs, for people. */
export function useOf({ totalTokens, totalCost }: StoredRun['row']): string {
  const tokens = totalTokens ? [`${totalTokens.toLocaleString('en')} tok`] : [];
  const cost = totalCost === undefined || Number(totalCost) === 0 ? [] : [`$${shortCost(totalCost)}`];
  return [...tokens, ...cost].join(' · ');
}

export function shortCost(cost: string): string {
  const value = Number(cost);
  return value >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(3)));
}

function details({ row, payloads }: StoredRun, isHere: boolean, page: PageText): string {
  const { promptTokens, completionTokens } = row;
  const facts = [
    `began ${renderTime(formatInstant(row.startTime))}`,
    ...(row.model === undefined ? [] : [`model ${escapeHtml(row.model)}`]),
    ...(promptTokens || completionTokens
      ? [`tokens ${promptTokens ?? 0} in, ${completionTokens ?? 0} out`]
      : []),
    ...(row.tags.length > 0 ? [`tags ${escapeHtml(row.tags.join(', '))}`] : []),
    `run ${escapeHtml(row.id)}`,
  ];
  const said = (page.feedback.get(row.id) ?? []).map(renderFeedback).join('');
  const { inputs, outputs, extra, error } = payloads;
  return `<p>${facts.join(' · ')}</p>${said}${failure(error)}${section('Inputs', inputs, isHere, page)}${section('Outputs', outputs, isHere, page)}${metadata(extra)}`;
}

function renderFeedback({ key, score, value, comment }: StoredFeedback): string {
  const words = [score === undefined ? '' : String(score), value ?? '', comment ?? ''].filter(
    (word) => word !== '',
  );
  return `<p class="feedback">feedback <strong>${escapeHtml(key)}</strong> ${escapeHtml(words.join(' · '))}</p>`;
}

function metadata(extra: Buffer | undefined): string {
  const members = membersIn(readPayload(extra, MAX_READ_BYTES), 'metadata');
  if (members.length === 0) return '';
  const lines = members.map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const shown = lines.join('\n').slice(0, MAX_SHOWN);
  return `<details class="payload"><summary>Metadata <span class="quiet">${members.length}</span></summary><pre tabindex="0">${escapeHtml(shown)}</pre></details>`;
}

function failure(error: Buffer | undefined): string {
  if (!error || error.length === 0) return '';
  return `<pre class="error" tabindex="0">${escapeHtml(error.subarray(0, MAX_SHOWN).toString())}</pre>${cut(error)}`;
}

function section(name: string, bytes: Buffer | undefined, isOpen: boolean, page: PageText): string {
  if (!bytes || bytes.length <= 2) return '';
  const messages = readMessages(readPayload(bytes, MAX_READ_BYTES));
  const shown = indented(bytes.subarray(0, MAX_SHOWN).toString());
  const json = `<div class="copying"><button type="button" class="copy" hidden>Copy</button><pre tabindex="0">${escapeHtml(shown)}</pre></div>${cut(bytes)}`;
  const isShort = bytes.length < 4_000 || messages.length > 0;
  const open = isOpen && isShort ? ' open' : '';
  const head = `<details class="payload"${open}><summary>${name} <span class="quiet">${sizeOf(bytes.length)}</span></summary>`;
  if (messages.length === 0) return `${head}${json}</details>`;
  return `${head}${renderMessages(messages, page.markdown)}<details class="payload"><summary>JSON</summary>${json}</details></details>`;
}

function cut({ length }: Buffer): string {
  return length > MAX_SHOWN ? `<p>the first ${MAX_SHOWN} of ${length} bytes</p>` : '';
}

function sizeOf(bytes: number): string {
  return bytes < 1_024 ? `${bytes} B` : `${(bytes / 1_024).toFixed(1)} KiB`;
}
