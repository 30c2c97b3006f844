import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { lastErrorIn } from './child.js';

describe('lastErrorIn', () => {
  const folder = temporaryFolder();
  const older = '{"level":"error","msg":"of an earlier start"}\n';

  it.each([
    ['an error object', '{"level":"error","err":{"message":"no port"},"msg":"could not start"}\n', 'no port'],
    ['an error text', '{"level":"error","error":"no port","msg":"could not start"}\n', 'no port'],
    ['a message alone', '{"level":"fatal","msg":"could not start"}\n', 'could not start'],
    [
      'what came before the end',
      '{"level":"error","msg":"a"}\n{"level":"info","msg":"stopping"}\nnot JSON\n',
      'a',
    ],
    ['nothing of earlier starts', '{"level":"info","msg":"stopping"}\n', undefined],
  ])('finds %s', (_what, text, expected) => {
    const path = join(folder, 'program.log');
    writeFileSync(path, older + text);
    expect(lastErrorIn(path, older.length)).toBe(expected);
  });

  it('returns nothing for a log that does not exist', () => {
    expect(lastErrorIn(join(folder, 'missing.log'), 0)).toBeUndefined();
  });
});
