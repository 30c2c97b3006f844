import { execFileSync } from 'node:child_process';
import { repository } from '../support/platform.js';

/** Makes the pages of docs/reference/, which are not committed; an import does it once in a process. */
execFileSync(process.execPath, ['scripts/generate.mjs', '--reference'], {
  cwd: repository,
  stdio: ['ignore', 'ignore', 'inherit'],
});
