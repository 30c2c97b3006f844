import { rounded } from './numbers.mjs';

/**
 * One line of the table.
 * @typedef {{ what: string, unit: string, ours: number, peers: Record<string, number | undefined>, least: Bar, aim: Bar }} Row
 * A bar is a number in the unit, met by less (`below`) or more (`above`), or a factor of the better peer (`times`).
 * @typedef {{ below: number } | { above: number } | { times: number }} Bar
 */

function best(peers) {
  const figures = Object.values(peers).filter((figure) => figure !== undefined);
  return figures.length > 0 ? Math.max(...figures) : undefined;
}

/** @returns {boolean | undefined} undefined when nothing is there to compare with */
function meets({ ours, peers }, bar) {
  if ('below' in bar) return ours <= bar.below;
  if ('above' in bar) return ours >= bar.above;
  const peer = best(peers);
  return peer === undefined ? undefined : ours >= bar.times * peer;
}

function markOf(row) {
  const least = meets(row, row.least);
  if (least === undefined) return 'no peer';
  if (!least) return 'MISS';
  return meets(row, row.aim) ? 'aim met' : 'pass';
}

function barText(bar) {
  if ('below' in bar) return `≤ ${bar.below}`;
  if ('above' in bar) return `≥ ${bar.above}`;
  return `≥ ${bar.times} ×`;
}

/** @param {readonly Row[]} rows */
export function table(rows) {
  const peers = [...new Set(rows.flatMap((row) => Object.keys(row.peers)))];
  const lines = rows.map((row) => {
    const peer = best(row.peers);
    const ratio = 'times' in row.least && peer !== undefined ? `${(row.ours / peer).toFixed(1)} ×` : '';
    const theirs = peers.map((name) => rounded(row.peers[name]));
    return [
      row.what,
      row.unit,
      rounded(row.ours),
      ...theirs,
      ratio,
      barText(row.least),
      barText(row.aim),
      markOf(row),
    ];
  });
  const head = ['what', 'unit', 'ours', ...peers, 'ratio', 'at least', 'aim', ''];
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column].length)));
  const text = (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [text(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...lines.map(text)].join(
    '\n',
  );
}
