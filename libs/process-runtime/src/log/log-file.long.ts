import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { attemptFiles } from './log-file.js';
import { parseLogQuery, readLog } from './read-log.js';

const folder = temporaryFolder();

describe('a log file', () => {
  it('serves many last lines of a long log in time that grows with its length', async () => {
    const logFolder = join(folder, 'long');
    mkdirSync(logFolder);
    const { older, newest } = attemptFiles(logFolder, 0);
    const entries = (count: number, letter: string): string =>
      `2026-03-01T12:00:00.000Z stdout F ${letter}\n`.repeat(count);
    writeFileSync(older, entries(200_000, 'a'));
    writeFileSync(newest, `${entries(10, 'b')}2026-03-01T12:00:00.000Z stdout F 1%\r2%\n`);
    const tail = async (tailLines: number): Promise<string> => {
      const query = parseLogQuery(new URLSearchParams({ tailLines: String(tailLines) }), systemClock.now());
      let text = '';
      const signal = new AbortController().signal;
      for await (const part of readLog(logFolder, 0, query, undefined, { clock: systemClock, signal }))
        text += part;
      return text;
    };
    const startedMs = systemClock.monotonicMs();
    expect(await tail(100_011)).toBe('a\n'.repeat(100_000) + 'b\n'.repeat(10) + '1%\r2%\n');
    // it took 10 s by moving each line of the result for each line of the log
    expect(systemClock.monotonicMs() - startedMs).toBeLessThan(5_000);
  });
});
