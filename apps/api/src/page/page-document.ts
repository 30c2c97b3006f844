import { createHash } from 'node:crypto';

/** The tree by keyboard: arrows move and fold, Home and End go to its ends. Without it every part still opens by Enter. */
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
h1 { font-size: 1.35rem; margin: 0; overflow-wrap: anywhere; }
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
.failed, .error { color: var(--error); font-weight: 600; }
.here > summary { box-shadow: inset 3px 0 0 var(--focus); }
.body { margin: .25rem 0 .75rem 1.4rem; min-width: 0; }
.body > p { color: var(--quiet); margin: .25rem 0; overflow-wrap: anywhere; }
.payload > summary { color: var(--quiet); padding: .1rem .25rem; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: .3rem; font: 13px/1.45 ui-monospace, monospace;
  margin: .25rem 0 .5rem; max-height: 32rem; overflow: auto; padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.error { border-color: var(--error); font-weight: 400; }
.quiet { color: var(--quiet); }
form.key { display: grid; gap: .6rem; max-width: 30rem; }
form.key input { background: var(--ground); border: 1px solid var(--quiet); border-radius: .3rem; color: inherit; font: inherit;
  padding: .45rem .6rem; width: 100%; }
button { background: var(--focus); border: 0; border-radius: .3rem; color: var(--ground); cursor: pointer; font: inherit;
  padding: .45rem 1rem; }
form.out { float: right; } form.out button { background: none; border: 1px solid var(--line); color: inherit; padding: .1rem .6rem; }
table { border-collapse: collapse; width: 100%; } th { color: var(--quiet); font-weight: 400; text-align: left; }
td, th { border-bottom: 1px solid var(--line); padding: .3rem .4rem; } td.number { text-align: right; }
@media (max-width: 46rem) {
  main { padding: .75rem .6rem 2rem; }
  .run > summary { grid-template-columns: 1fr auto; }
  .run > summary .bar { grid-column: 1 / -1; grid-row: 2; }
  .run > summary .use { display: none; }
  ul.runs ul.runs { margin-left: .2rem; padding-left: .35rem; }
  .body { margin-left: .5rem; }
}
`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text in an element or in a quoted attribute. Control characters, which HTML cannot hold, become U+FFFD. */
export function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '\ufffd');
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/**
 * Headers that allow a page only its own style and script: no image, no frame, nothing of other hosts, and
 * forms for the api alone.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${hashOf(PAGE_STYLE)}; script-src ${hashOf(PAGE_SCRIPT)}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  // a browser with no-referrer would not send the origin of a form
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex',
};

/** @param main escaped already */
export function renderDocument(title: string, main: string): Buffer {
  return Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${PAGE_STYLE}</style></head>
<body>
<main>
${main}
</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`);
}
