import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { TerminalWatch } from './terminal-watch.js';

describe('TerminalWatch', () => {
  it('shows names of a forged backup without letting the terminal obey them', () => {
    const out = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true });
    const watch = new TerminalWatch(out as unknown as NodeJS.WriteStream, new FakeClock());
    watch.stage('part \u001b]0;title\u0007', 100);
    watch.note('link \u001b[2J');
    watch.end();
    const text = out.read() as string;
    expect(text).toContain('part \\u001b]0;title\\u0007');
    expect(text).toContain('Note: link \\u001b[2J');
    expect(text).not.toMatch(/[\u001b\u0007]/);
  });
});
