// npm test: rings 1 and 2, which are unit tests beside the sources and what crosses a border under test/.
// npm test -- ARGUMENTS hands the arguments to Jest. A test that fails, fails: nothing runs again.
import { spawnSync } from 'node:child_process';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { openRunFolder, removeRun } from './tests/run-folder.mjs';

/** A file that starts servers and waits for them keeps half a processor busy; each takes some 2 GB with its servers. */
const FILES = totalmem() < 12 * 2 ** 30 ? 3 : 4;
const results = process.env.AGENTPLANE_TEST_RESULTS;
// each of some thousand starts of our programs would compile the same modules anew
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules', '.cache', 'compiled');

const build = spawnSync(process.execPath, ['bin/build.js'], { stdio: 'inherit' });
if (build.status !== 0) process.exit(1);
const folder = openRunFolder();
const report = results ? ['--json', `--outputFile=${join(results, 'tests.json')}`] : [];
const run = spawnSync(
  process.execPath,
  ['node_modules/jest/bin/jest.js', `--maxWorkers=${FILES}`, ...report, ...process.argv.slice(2)],
  { stdio: ['ignore', results ? 'ignore' : 'inherit', 'inherit'] },
);
const left = removeRun(folder);
if (left.length > 0)
  console.log(`ended what tests left running:\n${left.map((words) => `  ${words}`).join('\n')}`);
process.exit(run.status ?? 1);
