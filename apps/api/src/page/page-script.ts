/** The tree by keyboard: arrows move and fold, Home and End go to its ends. Without it every part still opens by Enter. */
export const PAGE_SCRIPT = `
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
