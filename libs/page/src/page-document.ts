import { createHash } from 'node:crypto';
import { escapeHtml } from './escape-html.js';

/**
 * The tree by keyboard: arrows move and fold, Home and End go to its ends. Buttons that copy. A talk that shows
 * the answer while it comes. Without it every part still opens by Enter, and forms are sent by the browser.
 */
const PAGE_SCRIPT = `
'use strict';
const tree = document.querySelector('ul.runs');
const rows = () => [...tree.querySelectorAll('.run > summary')].filter((row) => row.checkVisibility());
const above = (row) => row.parentElement.parentElement.closest('.run')?.querySelector(':scope > summary');
const first = (row) => row.parentElement.querySelector(':scope > ul.runs > li > .run > summary');
const go = (row) => { if (row) { row.focus(); row.scrollIntoView({ block: 'nearest' }); } };
tree?.addEventListener('keydown', (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const row = event.target.closest('.run > summary');
  if (!row) return;
  const all = rows();
  const at = all.indexOf(row);
  const run = row.parentElement;
  const keys = {
    ArrowDown: () => go(all[at + 1]),
    ArrowUp: () => go(all[at - 1]),
    Home: () => go(all[0]),
    End: () => go(all.at(-1)),
    ArrowRight: () => { if (run.open) go(first(row)); else run.open = true; },
    ArrowLeft: () => { if (run.open) run.open = false; else go(above(row)); },
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
go(document.querySelector('.here > summary'));

for (const button of document.querySelectorAll('button.copy')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    const shown = button.parentElement.querySelector('pre, .copied');
    try {
      await navigator.clipboard.writeText(button.dataset.text ?? shown.textContent);
      button.textContent = 'Copied';
    } catch {
      // pages without TLS have no clipboard: the reader copies what is selected
      if (shown) getSelection().selectAllChildren(shown);
    }
  });
}

let headers = {};
let again = () => location.reload();
let talk;
let live;
const add = (parent, tag, name, text = '') => {
  const made = parent.appendChild(document.createElement(tag));
  made.className = name;
  made.textContent = text;
  return made;
};
const message = (by, label) => {
  const made = add(live, 'li', 'message ' + by);
  add(made, 'p', 'speaker', label);
  return add(made, 'div', 'text');
};
const fail = (text) => {
  const said = talk.querySelector('.problem') ?? talk.insertBefore(document.createElement('p'), talk.firstChild);
  said.className = 'problem error';
  said.setAttribute('role', 'alert');
  said.textContent = text;
  for (const one of talk.elements) one.disabled = false;
};
const showPieces = async (body) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let text;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return undefined;
    const lines = (rest + value).split('\\n');
    rest = lines.pop();
    for (const piece of lines.map((line) => JSON.parse(line))) {
      if (piece.problem) return piece.problem;
      if (piece.text) {
        text ??= add(message('agent', 'Agent'), 'p', 'piece');
        text.textContent += piece.text;
      } else if (piece.tool) {
        text = undefined;
        add(message('tool', piece.tool), 'pre', '', piece.detail);
      }
      talk.scrollIntoView({ block: 'end' });
    }
  }
};
const send = async (event, box) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(talk));
  for (const one of talk.elements) one.disabled = true;
  if (box) add(message('user', 'User'), 'p', 'piece', box.value);
  talk.querySelector('.problem')?.remove();
  try {
    const answer = await fetch(talk.action, { method: 'POST', body, headers: { ...headers, accept: 'application/x-ndjson' } });
    const isTalk = answer.ok && answer.headers.get('content-type')?.startsWith('application/x-ndjson');
    const problem = isTalk ? await showPieces(answer.body) : 'The message was not sent (status ' + answer.status + ').';
    if (problem) fail(problem);
    else await again();
  } catch {
    fail('The connection was lost. Load the page again to see whether the answer has come.');
  }
};
const startTalk = () => {
  talk = document.querySelector('form.talk');
  live = document.querySelector('.live');
  const box = talk?.querySelector('textarea[name=text]');
  talk?.addEventListener('submit', (event) => send(event, box));
  box?.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (box.value.trim() !== '') talk.requestSubmit();
  });
  talk?.scrollIntoView({ block: 'end' });
  box?.focus({ preventScroll: true });
};
startTalk();

// pages that take a key in a header: each is fetched with it, and shown in place of the one before
const enter = document.querySelector('form.enter');
if (enter) {
  const main = document.querySelector('main');
  const opening = [...main.childNodes];
  const base = new URL(enter.action);
  const visit = async (path, init = {}) => {
    const answer = await fetch(path, { ...init, headers });
    const isPage = answer.headers.get('content-type')?.startsWith('text/html');
    if (answer.status === 401 || !isPage) {
      main.replaceChildren(...opening);
      enter.querySelector('.problem').textContent = answer.status === 401
        ? 'The key was not accepted.' : 'The agent answered ' + answer.status + ': ' + (await answer.text()).slice(0, 500);
      enter.elements.key.focus();
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const shown = page.querySelector('main');
    for (const link of shown.querySelectorAll('a[href], form[action]'))
      for (const name of ['href', 'action'])
        if (link.hasAttribute(name)) link.setAttribute(name, new URL(link.getAttribute(name), answer.url).href);
    document.title = page.title;
    history.replaceState(undefined, '', '#' + answer.url.slice(base.href.length));
    main.replaceChildren(...shown.childNodes);
    again = () => visit(answer.url);
    startTalk();
  };
  const begin = () => {
    const key = sessionStorage.getItem('agent-key') ?? '';
    headers = key.includes(' ') ? { authorization: key } : { 'x-api-key': key };
    const asked = new URL(base.href + location.hash.slice(1));
    return visit(asked.href.startsWith(base.href) ? asked.href : base.href);
  };
  enter.addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.setItem('agent-key', enter.elements.key.value);
    void begin();
  });
  main.addEventListener('click', (event) => {
    const link = event.target.closest('a[href]');
    if (!link?.href.startsWith(base.href) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    void visit(link.href);
  });
  main.addEventListener('submit', (event) => {
    if (event.target === enter || event.target === talk) return;
    event.preventDefault();
    void visit(event.target.action, { method: 'POST', body: new URLSearchParams(new FormData(event.target)) });
  });
  if (sessionStorage.getItem('agent-key') !== null) void begin();
}
`;

/** The style of all pages. Colours follow the reader's scheme; nothing is loaded. */
const PAGE_STYLE = `
:root { color-scheme: light dark; --text: #1c1f24; --quiet: #5c6570; --line: #d5dae1; --ground: #fff; --raised: #f5f7f9;
  --bar: #3b73c5; --llm: #8a4fc4; --tool: #2f855a; --error: #b3161b; --focus: #0b57d0; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --quiet: #9aa4b0; --line: #363d47; --ground: #14171b;
  --raised: #1d2127; --bar: #6ba1ee; --llm: #b78ae6; --tool: #63b98a; --error: #ff8a80; --focus: #8ab4f8; } }
* { box-sizing: border-box; }
body { background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 0; }
main { margin: 0 auto; max-width: 80rem; padding: 1rem 1.25rem 3rem; }
h1 { font-size: 1.35rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
a { color: var(--focus); }
.facts { color: var(--quiet); display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; margin: .25rem 0 1rem; padding: 0; }
.facts dt { display: inline; } .facts dd { color: var(--text); display: inline; margin: 0; }
ul.runs { list-style: none; margin: 0; padding: 0; }
ul.runs ul.runs { border-left: 1px solid var(--line); margin-left: .55rem; padding-left: .75rem; }
summary { border-radius: .3rem; cursor: pointer; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
.run > summary { align-items: center; display: grid; gap: 0 .75rem; grid-template-columns: minmax(9rem, 1fr) 34% 5.5rem 9rem;
  list-style: none; padding: .3rem .4rem; }
.run > summary::-webkit-details-marker { display: none; }
.run > summary:hover { background: var(--raised); }
.run[open] > summary { background: var(--raised); }
.name { overflow-wrap: anywhere; }
.name::before { content: "\\25B8"; color: var(--quiet); display: inline-block; width: 1rem; }
.run[open] > summary .name::before { content: "\\25BE"; }
.kind { border: 1px solid var(--line); border-radius: .25rem; color: var(--quiet); font-size: .75rem; margin-left: .35rem;
  padding: 0 .3rem; white-space: nowrap; }
.bar { display: block; height: .6rem; width: 100%; }
.bar rect { fill: var(--bar); } .bar .track { fill: var(--line); opacity: .55; }
.bar.llm .time { fill: var(--llm); } .bar.tool .time { fill: var(--tool); } .bar.error .time { fill: var(--error); }
.bar.pending .time { opacity: .5; }
.took, .use { color: var(--quiet); font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.failed, .error { color: var(--error); } .failed { font-weight: 600; }
.here > summary { box-shadow: inset 3px 0 0 var(--focus); }
.body { margin: .25rem 0 .75rem 1.4rem; min-width: 0; }
.body > p { color: var(--quiet); margin: .25rem 0; overflow-wrap: anywhere; }
.payload > summary { color: var(--quiet); padding: .1rem .25rem; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: .3rem; font: 13px/1.45 ui-monospace, monospace;
  margin: .25rem 0 .5rem; max-height: 32rem; overflow: auto; padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.error { border-color: var(--error); }
.quiet { color: var(--quiet); }
form.key, form.enter { display: grid; gap: .6rem; max-width: 30rem; } form.enter .actions, form.enter .problem { margin: 0; }
button { background: var(--focus); border: 0; border-radius: .3rem; color: var(--ground); cursor: pointer; font: inherit;
  padding: .45rem 1rem; }
button.plain, button.copy, form.out button { background: none; border: 1px solid var(--quiet); color: inherit; padding: .1rem .6rem; }
button:disabled, textarea:disabled { cursor: default; opacity: .6; }
header { border-bottom: 1px solid var(--line); }
header nav { align-items: center; display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; margin: 0 auto; max-width: 80rem; padding: .55rem 1.25rem; }
header nav .brand { font-weight: 600; } header nav form { margin-left: auto; }
nav a { color: inherit; text-decoration: none; } nav a:hover { text-decoration: underline; }
nav a[aria-current] { box-shadow: 0 2px 0 var(--focus); }
.trail { color: var(--quiet); margin: 0 0 .35rem; overflow-wrap: anywhere; } .trail a { color: inherit; }
.actions { align-items: center; display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 1rem; }
form.actions { align-items: end; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem; }
.wide { overflow-x: auto; }
.state { white-space: nowrap; } .state.good { color: var(--tool); } .state.bad { color: var(--error); font-weight: 600; }
td.line { max-width: 22rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
form.filter { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 1rem; } form.filter label { flex: 1 1 16rem; }
input, textarea, select { background: var(--ground); border: 1px solid var(--quiet); border-radius: .3rem; color: inherit; font: inherit;
  padding: .45rem .6rem; width: 100%; }
label > input, label > textarea, label > select { margin-top: .2rem; }
form.filter button { align-self: end; }
ol.chat { display: grid; gap: .75rem; grid-template-columns: minmax(0, 1fr); list-style: none; margin: 0 0 1rem; max-width: 52rem; padding: 0; }
.chat:empty { display: none; }
.message { border: 1px solid var(--line); border-radius: .5rem; min-width: 0; padding: .5rem .75rem; }
.message.user { background: var(--raised); justify-self: end; } .message.tool, .message.system { border-style: dashed; }
.message .speaker { color: var(--quiet); font-size: .8rem; margin: 0; }
.text { overflow-wrap: anywhere; } .text > :first-child { margin-top: .15rem; } .text > :last-child { margin-bottom: .15rem; }
.text .heading { font-weight: 600; } .text .piece { white-space: pre-wrap; } .text blockquote { border-left: 3px solid var(--line); margin: .5rem 0; padding-left: .75rem; }
code { font: .92em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; } .call { color: var(--quiet); margin: .25rem 0; }
form.talk { display: grid; gap: .5rem; max-width: 52rem; } fieldset { border: 1px solid var(--line); border-radius: .5rem; min-width: 0; }
td time, td .progress { white-space: nowrap; }
progress { accent-color: var(--bar); width: 7rem; }
table { border-collapse: collapse; width: 100%; } th { color: var(--quiet); font-weight: 400; text-align: left; }
td, th { border-bottom: 1px solid var(--line); padding: .3rem .4rem; } td.number { text-align: right; }
@media (max-width: 46rem) {
  main { padding: .75rem .6rem 2rem; } header nav { padding: .5rem .6rem; }
  .run > summary { grid-template-columns: 1fr auto; }
  .run > summary .bar { grid-column: 1 / -1; grid-row: 2; }
  .run > summary .use { grid-column: 1 / -1; grid-row: 3; text-align: left; } .use:empty { display: none; }
  ul.runs ul.runs { margin-left: .2rem; padding-left: .35rem; }
  .body { margin-left: .5rem; } 
  .rows thead { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; width: 1px; }
  .rows table, .rows tbody { display: block; }
  .rows tr { border-bottom: 1px solid var(--line); display: block; padding: .5rem 0; }
  .rows td { border: 0; display: block; overflow-wrap: anywhere; padding: .1rem 0 .1rem 6.1rem; position: relative; }
  .rows td::before { color: var(--quiet); content: attr(data-heading); left: 0; position: absolute; }
  .rows td:empty { display: none; }
}
`;

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/**
 * Headers that allow a page only its own style and script: no image, no frame, nothing of other hosts; forms
 * and requests for its own server alone.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${hashOf(PAGE_STYLE)}; script-src ${hashOf(PAGE_SCRIPT)}; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  // a browser with no-referrer would not send the origin of a form
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex',
};

/** Links above a page, and the form that signs out. */
export interface Navigation {
  /** Text and address of each link. */
  readonly links: readonly (readonly [text: string, path: string])[];
  /** Path of the link that the page belongs to. */
  readonly current: string;
}

/**
 * A whole page.
 * @param main escaped already
 * @param navigation absent on pages for readers without a session
 */
export function renderDocument(title: string, main: string, navigation?: Navigation): Buffer {
  return Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${PAGE_STYLE}</style></head>
<body>
${navigation ? renderNavigation(navigation) : ''}<main>
${main}
</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`);
}

function renderNavigation({ links, current }: Navigation): string {
  const shown = links.map(
    ([text, path]) =>
      `<a href="${escapeHtml(path)}"${path === current ? ' aria-current="page"' : ''}>${escapeHtml(text)}</a>`,
  );
  return `<header><nav aria-label="Console"><span class="brand">Agentplane</span>${shown.join('')}<form class="out" method="post" action="/sign-out"><button>Sign out</button></form></nav></header>
`;
}

/**
 * A table. On a narrow screen each row is a block of lines, a cell with its heading on each, without the empty ones.
 * @param rows cells of HTML, escaped already
 */
export function renderTable(
  label: string,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const head = headings.map((heading) => `<th scope="col">${escapeHtml(heading)}</th>`).join('');
  const cellOf = (cell: string, at: number): string =>
    `<td data-heading="${escapeHtml(headings[at] ?? '')}">${cell}</td>`;
  const body = rows.map((row) => `<tr>${row.map(cellOf).join('')}</tr>`).join('\n');
  return `<div class="wide rows" tabindex="0" role="region" aria-label="${escapeHtml(label)}"><table><thead><tr>${head}</tr></thead><tbody>
${body}</tbody></table></div>`;
}

/** A time to the second, with the exact one in its attribute. @param time RFC 3339, in UTC */
export function renderTime(time: string): string {
  const shown = time.replace('T', ' ').replace(/(?:\.\d+)?Z$/, ' UTC');
  return `<time datetime="${escapeHtml(time)}">${escapeHtml(shown)}</time>`;
}

/** A button that copies a text; hidden where the script does not run. */
export function copyButton(label: string, text: string): string {
  return `<button type="button" class="copy" data-text="${escapeHtml(text)}" hidden>${escapeHtml(label)}</button>`;
}

/** A state as a mark. */
export function renderState(state: string, tone: 'good' | 'bad' | 'plain'): string {
  return `<span class="state ${tone}">${escapeHtml(state)}</span>`;
}
