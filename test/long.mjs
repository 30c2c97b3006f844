// npm run test:long [-- JEST ARGUMENTS]: tests that take longer than every change can wait, or that measure time or memory
// (`*.long.ts`), and the spec files that have some beside others (`itLong`, `API_SERVERS`). docs/long-tests.md keeps the
// last result.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openRunFolder, removeRun } from '../scripts/tests/run-folder.mjs';

const MARK = /\b(itLong|API_SERVERS)\b/;
const marked = ['apps', 'libs', 'test']
  .flatMap((root) => readdirSync(root, { recursive: true }).map((name) => join(root, name)))
  .filter((path) => /\.spec\.tsx?$/.test(path) && MARK.test(readFileSync(path, 'utf8')));

// templates --from FOLDER: the agents of that folder in place of the repository's own
const given = process.argv.slice(2);
const from = given.indexOf('--from');
const [, folderOfTemplates] = from < 0 ? [] : given.splice(from, 2);

const build = spawnSync(process.execPath, ['bin/build.js'], { stdio: 'inherit' });
if (build.status !== 0) process.exit(1);
const folder = openRunFolder();
const run = spawnSync(
  process.execPath,
  [
    'node_modules/jest/bin/jest.js',
    '--testMatch',
    '**/*.long.ts',
    ...marked.map((path) => `**/${path}`),
    '--runInBand',
    // some take hours; what they wait for has deadlines of its own
    '--testTimeout=14400000',
    ...given,
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      AGENTPLANE_LONG_TESTS: '1',
      ...(folderOfTemplates === undefined ? {} : { AGENTPLANE_TEST_TEMPLATES: resolve(folderOfTemplates) }),
    },
  },
);
removeRun(folder);
process.exit(run.status ?? 1);
