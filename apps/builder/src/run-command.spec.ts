import { constants } from 'node:os';
import { readdirSync } from 'node:fs';
import { NODE_MARKS } from '#lib/config';
import { temporaryFolder } from '#lib/testing';
import { type Command, NOT_FOUND, runCommand } from './run-command.js';

const MEGABYTE = 1_048_576;

describe('runCommand', () => {
  const folder = temporaryFolder();
  const shell = (text: string, more: Partial<Command> = {}): Promise<number> =>
    runCommand({ program: '/bin/sh', args: ['-c', text], folder, maxFileBytes: MEGABYTE, ...more });

  it('bounds a file that was removed and is still open', async () => {
    const fill = 'exec 3> file; rm file; head -c 9000000 /dev/zero >&3';
    expect(await shell(fill)).toBe(128 + constants.signals.SIGXFSZ);
    expect(await shell('head -c 1000000 /dev/zero > file && rm file')).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('ends what it starts for a signal that is aborted already', async () => {
    const signal = AbortSignal.abort();
    expect(await shell('sleep 600', { signal })).toBe(128);
  });

  it.each(NODE_MARKS)('hands on %s, by which nodes of one machine know their own processes', async (name) => {
    const before = process.env[name];
    process.env[name] = 'here';
    try {
      expect(await shell(`test "$${name}" = here`)).toBe(0);
    } finally {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    }
  });

  it('answers the exit code of a program that does not exist', async () => {
    expect(await shell('', { program: 'no-such-program', args: [] })).toBe(NOT_FOUND);
  });
});
