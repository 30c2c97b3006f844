// Tables of measured results: pages of docs/ show data files of docs/data/ between `<!-- results: NAME -->` and
// `<!-- end -->`. A new result is entered in the data file alone.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGES = ['docs/benchmarks.md', 'docs/scaling.md', 'docs/long-tests.md'];
const PLACE = /(<!-- results: ([\w-]+) -->\n)[^]*?(<!-- end -->)/g;

function table(columns, rows) {
  const line = (cells) => `|${cells.join('|')}|`;
  return `${[columns, columns.map(() => '---'), ...rows].map(line).join('\n')}\n`;
}

function figures({ command, date, load, columns, rows }) {
  return `\n\`${command}\`, ${date}, load ${load}:\n\n${table(columns, rows)}\n`;
}

function longTests({ results }) {
  const rows = results.map(({ test, shows, date, result }) => [test, shows, date, result]);
  return `\n${table(['test', 'what it shows', 'date', 'result'], rows)}\n`;
}

/** @returns the text of each page by its path, and places without data */
export function resultPages(root) {
  const read = (path) => readFileSync(join(root, path), 'utf8');
  const benchmarks = Object.entries(JSON.parse(read('docs/data/benchmarks.json')));
  const tables = new Map(benchmarks.map(([name, data]) => [name, figures(data)]));
  tables.set('long-tests', longTests(JSON.parse(read('docs/data/long-tests.json'))));
  const problems = [];
  const show = (whole, begin, name, end) => {
    if (tables.has(name)) return `${begin}${tables.get(name)}${end}`;
    problems.push(`docs/data: no results of ${name}`);
    return whole;
  };
  const files = PAGES.map((path) => [path, read(path).replaceAll(PLACE, show)]);
  return { files, problems };
}
