// npm test: unit tests, then everything under test/, three files at a time: a file that starts servers and waits for
// them keeps half a processor busy (measured), so two would leave half of two processors idle; four are no faster.
// npm test -- ARGUMENTS hands the arguments to Jest.
// Where reports are asked for (.ci/run), up to eight files that failed run once more, alone: a machine that is busy
// with something else must not refuse a change. Each that passes then is named as FLAKY, so that it gets mended.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

/** At a time. */
const FILES = 3;
const MOST_FILES_AGAIN = 8;
const results = process.env.AGENTPLANE_TEST_RESULTS;
// each of some thousand starts of our programs would compile the same modules anew
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules', '.cache', 'compiled');

function jest(name, args) {
  const report = results ? ['--json', `--outputFile=${join(results, `${name}.json`)}`] : [];
  const run = spawnSync(
    process.execPath,
    [
      'node_modules/jest/bin/jest.js',
      ...args,
      ...report,
    ],
    { stdio: ['ignore', report.length > 0 ? 'ignore' : 'inherit', 'inherit'] },
  );
  return run.status === 0;
}

/** The files that failed in the report of that name; none when it was not written. */
function failedFiles(name) {
  try {
    const { testResults } = JSON.parse(readFileSync(join(results, `${name}.json`), 'utf8'));
    return testResults.filter(({ status }) => status === 'failed').map((file) => file.name);
  } catch {
    return [];
  }
}

function suite(name, args) {
  if (jest(name, args)) return true;
  const failed = results ? failedFiles(name) : [];
  if (failed.length === 0 || failed.length > MOST_FILES_AGAIN) return false;
  console.log(`\n${failed.length} files of ${name} failed; they run once more, alone`);
  const passes = jest(`${name}-again`, ['--runInBand', '--forceExit', '--runTestsByPath', ...failed]);
  const still = passes ? [] : failedFiles(`${name}-again`);
  for (const file of failed)
    if (!still.includes(file)) console.log(`FLAKY: ${relative('', file)} failed and passed alone`);
  return passes;
}

const build = spawnSync(process.execPath, ['bin/build.js'], { stdio: 'inherit' });
if (build.status !== 0) process.exit(1);
const given = process.argv.slice(2);
if (given.length > 0) process.exit(jest('given', given) ? 0 : 1);
const units = suite('units', ['apps', 'libs', `--maxWorkers=${FILES}`]);
// clients of the SDKs keep sockets and timers for a while after the last test
const borders = suite('borders', ['test/', `--maxWorkers=${FILES}`, '--forceExit']);
process.exit(units && borders ? 0 : 1);
