// npm run bench [-- NAME…]: the benchmarks one after another, each in a process of its own, so that none warms another.
// Results are printed as they come; docs/benchmarks.md keeps a dated run.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { refuse } from './read-arguments.mjs';

const all = [
  'cold-start',
  'dashboard',
  'export',
  'lake',
  'agent-server',
  'agent-memory',
  'run-logs',
  'store',
  'stalled-readers',
  'nest',
  'trace-store',
  'scale-to-zero',
  'wakes',
  'control-plane',
];
const HELP = `npm run bench [-- NAME…]         those benchmarks, or all
npm run bench -- NAME [ARGUMENT…]   one, with what it is handed; --help says what that is

${all.join(', ')}
`;
const words = process.argv.slice(2);
if (words[0] === '--help') {
  process.stdout.write(HELP);
  process.exit(0);
}
const asked = all.includes(words[1] ?? '') ? words : words.slice(0, 1);
const given = words.slice(asked.length);
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length > 0) refuse(`unknown benchmark ${unknown.join(', ')}`, HELP);
process.stdout.write(
  `${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}\n`,
);
/** One with several files has a folder. */
function fileOf(name) {
  const file = join(import.meta.dirname, `${name}.mjs`);
  return existsSync(file) ? file : join(import.meta.dirname, name, 'main.mjs');
}

let failed = false;
for (const name of asked.length > 0 ? asked : all) {
  process.stdout.write(`\n## ${name}\n`);
  const run = spawnSync(process.execPath, [fileOf(name), ...given], {
    stdio: 'inherit',
  });
  failed ||= run.status !== 0;
}
process.exit(failed ? 1 : 0);
