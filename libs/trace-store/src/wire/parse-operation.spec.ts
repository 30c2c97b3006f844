import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { atOnce } from '#lib/json';
import { parseOperation } from './parse-operation.js';
import type { RunOperation } from './run-operation.js';

describe('parseOperation', () => {
  it('refuses an operation that the server fails to read, whatever the fault', () => {
    const id = randomUUID();
    const operation: RunOperation = {
      id,
      run: Buffer.from('{}'),
      place: ['post', 3],
      get fields(): never {
        throw new TypeError('a fault');
      },
    };
    expect(atOnce(parseOperation('post', operation))).toEqual({
      id,
      problems: [
        { loc: ['post', 3], msg: expect.stringContaining('TypeError: a fault'), type: 'unreadable' },
      ],
    });
  });
});
