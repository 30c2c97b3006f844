import { describe, expect, it } from '@jest/globals';
import { ignoredLines } from './build-image.js';

describe('ignoredLines', () => {
  /** The folder's own lines that come after the lines for secrets, and so decide about them. */
  function last(...own: readonly string[]): readonly string[] {
    const lines = ignoredLines([own.join('\n')]);
    return lines.slice(lines.lastIndexOf('!**/.env.template') + 1);
  }

  it.each(['!src', '!src/**', '!*', '!.*', '!**', '!config/*', '! src'])(
    'keeps %s from taking secrets back',
    (line) => {
      expect(ignoredLines([`*\n${line}`]).slice(0, 2)).toEqual(['*', line]);
      expect(last('*', line)).toEqual([]);
    },
  );

  it.each([
    '!.env',
    '!config/.env',
    '!.env*',
    '!.env.*',
    '!**/*.key',
    '!certificates/dev.key',
    '!.aws/config',
  ])('lets %s take a secret back, and nothing else', (line) => {
    expect(last('*', '!src', line, 'notes')).toEqual([line]);
  });

  it('keeps the order of lines about secrets', () => {
    expect(last('!*.key', '*', '!src', 'production.key')).toEqual(['!*.key', 'production.key']);
  });
});
