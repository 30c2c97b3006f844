// npm test: unit tests side by side, then everything under test/ one at a time (those start whole platforms).
// npm test -- ARGUMENTS hands the arguments to Jest.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const results = process.env.AGENTPLANE_TEST_RESULTS;

function jest(name, args) {
  const report = results ? ['--json', `--outputFile=${join(results, `${name}.json`)}`] : [];
  const run = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      ...args,
      ...report,
    ],
    { stdio: ['ignore', report.length > 0 ? 'ignore' : 'inherit', 'inherit'] },
  );
  return run.status === 0;
}

const build = spawnSync(process.execPath, ['bin/build.js'], { stdio: 'inherit' });
if (build.status !== 0) process.exit(1);
const given = process.argv.slice(2);
if (given.length > 0) process.exit(jest('given', given) ? 0 : 1);
const units = jest('units', ['apps', 'libs', '--maxWorkers=2']);
// clients of the SDKs keep sockets and timers for a while after the last test
const borders = jest('borders', ['test/', '--runInBand', '--forceExit']);
process.exit(units && borders ? 0 : 1);
