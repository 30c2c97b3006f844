// The trace store's promised figures in one command: see --help. node bin/node24.js test/bench/trace-store/main.mjs
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { table } from '../agent-server/table.mjs';
import { readArguments, refuse } from '../read-arguments.mjs';
import { measureExportBeside } from './parts/export-beside.mjs';
import { measureFilters } from './parts/filters.mjs';
import { measureIngest } from './parts/ingest.mjs';
import { measureReads } from './parts/reads.mjs';
import { openStand } from './stand.mjs';

const PARTS = {
  ingest: measureIngest,
  'export-beside': measureExportBeside,
  reads: measureReads,
  filters: measureFilters,
};
/** Need no server. */
const BARE = new Set(['filters']);
const HELP = `npm run bench -- trace-store [--part NAME]… [--runs N] [--day-runs N] [--rounds N] [--ours FOLDER] [--profiles FOLDER]

Measures the trace store through a real api process, beside psql in the same run. Medians of the rounds; the last lines are a
table with marks. Needs psql.

  --part NAME        only this part, more than once for several: ${Object.keys(PARTS).join(', ')}
  --runs N           runs of a round of \`ingest\`, 10,000 by default
  --day-runs N       runs of the day of \`reads\`, 1,000,000 by default
  --rounds N         rounds of \`ingest\`, 3 by default
  --ours FOLDER      another built checkout of this repository, in turns with this one
  --profiles FOLDER  CPU profiles of the api go there
`;
const { values } = readArguments(HELP, {
  options: {
    part: { type: 'string', multiple: true, default: Object.keys(PARTS) },
    runs: { type: 'count', default: 10_000 },
    'day-runs': { type: 'count', default: 1_000_000 },
    rounds: { type: 'count', default: 3 },
    ours: { type: 'string' },
    profiles: { type: 'string' },
  },
});
const unknown = values.part.filter((name) => !(name in PARTS));
if (unknown.length > 0)
  refuse(`unknown part ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`, HELP);

const repository = resolve(import.meta.dirname, '..', '..', '..');
if (spawnSync(process.execPath, [join(repository, 'bin/build.js')], { stdio: 'inherit' }).status !== 0)
  process.exit(1);

// the server's end keeps no event loop alive
const alive = setInterval(() => undefined, 1000);
const options = {
  runs: values.runs,
  dayRuns: values['day-runs'],
  rounds: values.rounds,
};
const checkouts = [repository, ...(values.ours ? [resolve(values.ours)] : [])];
const rows = [];
for (const part of values.part) {
  process.stdout.write(`\n### ${part}\n`);
  if (BARE.has(part)) {
    rows.push(...(await PARTS[part](checkouts, options)));
    continue;
  }
  const stands = [];
  try {
    for (const checkout of checkouts) stands.push(await openStand(checkout, { profiles: values.profiles }));
    rows.push(...(await PARTS[part](stands, options)));
  } finally {
    for (const stand of stands) await stand.stop();
  }
}
process.stdout.write(`\n${table(rows)}\n`);
clearInterval(alive);
process.exit(0);
