import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { repository } from '../support/platform.js';

const PROGRAM = `
import { spawnSync } from 'node:child_process';
import { closeInherited } from ${JSON.stringify(join(repository, 'bin', 'inherited-descriptors.js'))};
closeInherited();
const look = 'for at in 5 40 41; do [ -e /proc/self/fd/$at ] && echo $at; done';
process.stdout.write(spawnSync('/bin/sh', ['-c', look]).stdout);
`;

(process.platform === 'linux' ? describe : describe.skip)('the command', () => {
  const folder = temporaryFolder();

  it.each<[string, string[], string]>([
    ['gives its children none of the files that its starter has open', [], ''],
    ['keeps one that a word of it names', ['--file', '/dev/fd/41'], '41\n'],
  ])('%s', (_what, words, expected) => {
    const path = join(folder, 'lock');
    writeFileSync(path, '');
    const file = openSync(path, 'r+');
    const stdio: ('ignore' | 'pipe' | number)[] = Array.from({ length: 42 }, () => 'ignore');
    for (const at of [5, 40, 41]) stdio[at] = file;
    stdio[1] = 'pipe';
    const args = ['--input-type=module', '-e', PROGRAM, '--', ...words];
    const { stdout, status } = spawnSync(process.execPath, args, { stdio, encoding: 'utf8' });
    closeSync(file);
    expect([status, stdout]).toEqual([0, expected]);
  });
});
