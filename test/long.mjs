// npm run test:long [-- JEST ARGUMENTS]: tests that take longer than every change can wait. docs/long-tests.md keeps the last result.
import { spawnSync } from 'node:child_process';

const build = spawnSync(process.execPath, ['bin/build.js'], { stdio: 'inherit' });
if (build.status !== 0) process.exit(1);
const run = spawnSync(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--no-warnings=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    '--testMatch',
    '**/test/long/*.long.ts',
    '--runInBand',
    '--forceExit',
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit' },
);
process.exit(run.status ?? 1);
