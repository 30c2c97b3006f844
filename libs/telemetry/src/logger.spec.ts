import { describe, expect, it } from '@jest/globals';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { createLogger } from './logger.js';
import { withLogFields } from './scope.js';

describe('the logger', () => {
  it('adds to each line the fields of its own work, also after a pause', async () => {
    const path = join(tmpdir(), `log-${crypto.randomUUID()}`);
    const descriptor = openSync(path, 'w');
    const log = createLogger('test', 'info', descriptor);
    const work = (key: string) =>
      withLogFields({ key }, async () => {
        await new Promise((resolve) => setImmediate(resolve));
        log.info({ own: key }, 'line');
      });
    await Promise.all([work('a'), work('b')]);
    log.info({}, 'outside');
    withLogFields({ key: 'outer' }, () =>
      withLogFields({ id: '1' }, () => log.info({ key: 'own' }, 'nested')),
    );
    closeSync(descriptor);
    const lines = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    rmSync(path);
    expect(lines).toMatchObject([
      { msg: 'line', key: 'a', own: 'a' },
      { msg: 'line', key: 'b', own: 'b' },
      { msg: 'outside' },
      { msg: 'nested', key: 'own', id: '1' },
    ]);
    expect(lines[2]).not.toHaveProperty('key');
  });
});
