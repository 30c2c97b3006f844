import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { secretNames } from './build-image.js';

describe('names of secret files', () => {
  const folder = temporaryFolder();

  it('shows what a terminal would obey, on one line', () => {
    expect(secretNames(folder)).toBeUndefined();
    mkdirSync(join(folder, '\u001b]0;title\u0007'));
    writeFileSync(join(folder, '\u001b]0;title\u0007', '.env'), '');
    mkdirSync(join(folder, 'two\nlines'));
    writeFileSync(join(folder, 'two\nlines', '.npmrc'), '');
    expect(secretNames(folder)).toBe('\\u001b]0;title\\u0007/.env, two lines/.npmrc');
  });
});
