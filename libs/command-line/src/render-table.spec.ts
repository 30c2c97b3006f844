import { describe, expect, it } from '@jest/globals';
import { renderTable } from './render-table.js';

describe('a table', () => {
  it('shows what a terminal would obey, and keeps a cell in its row', () => {
    const text = renderTable(
      ['NAME', 'MESSAGE'],
      [
        ['a', 'exit 1: \u001b]52;c;ZXZpbA==\u0007\u009b2J\r\nb      fine'],
        ['c', '\u202Egpj.exe'],
      ],
    );
    expect(text).toBe(
      'NAME   MESSAGE\n' +
        'a      exit 1: \\u001b]52;c;ZXZpbA==\\u0007\\u009b2J\\u000d b      fine\n' +
        'c      \\u202egpj.exe\n',
    );
  });

  it('shows what a terminal would obey in a heading, which a resource may name', () =>
    expect(renderTable(['NAME', 'A\u001b[2J\nB'], [['a', 'b']])).toBe('NAME   A\\u001b[2J B\na      b\n'));
});
