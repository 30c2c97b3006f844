import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { readLogEnd } from './container-view.js';

describe('readLogEnd', () => {
  const folder = temporaryFolder();
  const entry = (text: string): string => `2026-01-01T00:00:00.000Z stderr F ${text}\n`;

  it('returns the whole of a short log, and whole lines of a long one', () => {
    const file = join(folder, 'log');
    writeFileSync(file, entry('the only line'));
    expect(readLogEnd(file)).toBe('the only line');
    writeFileSync(file, Array.from({ length: 500 }, (_, at) => entry(`line ${at}`)).join(''));
    const lines = readLogEnd(file).split('\n');
    expect(lines.at(-1)).toBe('line 499');
    expect(lines.every((line) => /^line \d+$/.test(line))).toBe(true);
  });
});
