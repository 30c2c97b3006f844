import { describe, expect, it } from '@jest/globals';
import { LiveLines } from './live-lines.js';

function screenOf(columns: number, rows: number) {
  const written: string[] = [];
  return { columns, rows, written, write: (text: string) => written.push(text) };
}

describe('lines that are drawn anew', () => {
  it('replaces the lines before', () => {
    const screen = screenOf(20, 10);
    const lines = new LiveLines(screen);
    lines.show(['a', 'b']);
    lines.show(['c']);
    lines.show(['d']);
    expect(screen.written).toEqual(['a\nb\n', '\u001b[2A\r\u001b[0Jc\n', '\u001b[1A\r\u001b[0Jd\n']);
  });

  it('cuts what would wrap or scroll away', () => {
    const screen = screenOf(5, 3);
    new LiveLines(screen).show(['123456', '2', '3']);
    expect(screen.written).toEqual(['1234\n2\n']);
  });

  it('shows nothing that a terminal obeys', () => {
    const screen = screenOf(40, 3);
    new LiveLines(screen).show(['a\u001b[2Jb']);
    expect(screen.written).toEqual(['a\\u001b[2Jb\n']);
  });
});
