import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { itLong, temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { attemptFiles, LogFile } from './log-file.js';
import { parseLogQuery, readLog } from './read-log.js';

const folder = temporaryFolder();
const line = (index: number): string => `line ${String(index).padStart(4, '0')}\n`;

/** Text that a follower of a log receives. */
function follow(logFolder: string, log: LogFile): { text: () => string; done: Promise<void> } {
  let text = '';
  const query = parseLogQuery(new URLSearchParams('follow=true'), systemClock.now());
  const read = async (): Promise<void> => {
    const parts = readLog(logFolder, log.attempt, query, log, {
      clock: systemClock,
      signal: new AbortController().signal,
    });
    for await (const part of parts) text += part;
  };
  return { text: () => text, done: read() };
}

describe('a log file', () => {
  it('streams to a follower across rotation without a gap', async () => {
    const logFolder = join(folder, 'followed');
    const log = new LogFile(logFolder, 0, systemClock, 2_000);
    const seen = follow(logFolder, log);
    for (let index = 0; index < 200; index++) {
      log.write('stdout', line(index));
      if (index % 5 === 0) await waitFor(() => seen.text().includes(line(index)));
    }
    log.close();
    await seen.done;
    expect(log.rotations).toBeGreaterThan(2);
    expect(seen.text()).toBe(Array.from({ length: 200 }, (_, index) => line(index)).join(''));
  });

  it('stops growing without an error when rotation fails', () => {
    const logFolder = join(folder, 'stuck');
    const log = new LogFile(logFolder, 0, systemClock, 2_000);
    const { older, newest } = attemptFiles(logFolder, 0);
    mkdirSync(older);
    writeFileSync(join(older, 'in-the-way'), '');
    for (let index = 0; index < 500; index++) log.write('stdout', line(index));
    expect(statSync(newest).size).toBeLessThanOrEqual(2_000);
    expect(readFileSync(newest, 'utf8')).toContain(line(499));
    log.close();
  });

  it('drops output without an error while its folder is missing, and resumes afterwards', () => {
    const logFolder = join(folder, 'gone');
    const log = new LogFile(logFolder, 0, systemClock, 2_000);
    rmSync(logFolder, { recursive: true });
    for (let index = 0; index < 100; index++) log.write('stdout', line(index));
    mkdirSync(logFolder);
    for (let index = 100; index < 200; index++) log.write('stdout', line(index));
    expect(readFileSync(attemptFiles(logFolder, 0).newest, 'utf8')).toContain(line(199));
    log.close();
    log.write('stdout', 'too late\n');
    expect(existsSync(attemptFiles(logFolder, 1).newest)).toBe(false);
  });

  describe('of many lines', () => {
    const logFolder = join(folder, 'long');
    beforeAll(() => {
      mkdirSync(logFolder);
      const { older, newest } = attemptFiles(logFolder, 0);
      const entries = (count: number, letter: string): string =>
        `2026-03-01T12:00:00.000Z stdout F ${letter}\n`.repeat(count);
      writeFileSync(older, entries(200_000, 'a'));
      writeFileSync(newest, `${entries(10, 'b')}2026-03-01T12:00:00.000Z stdout F 1%\r2%\n`);
    });
    const tail = async (tailLines: number): Promise<string> => {
      const query = parseLogQuery(new URLSearchParams({ tailLines: String(tailLines) }), systemClock.now());
      let text = '';
      const signal = new AbortController().signal;
      for await (const part of readLog(logFolder, 0, query, undefined, { clock: systemClock, signal }))
        text += part;
      return text;
    };
    const most = 'a\n'.repeat(100_000) + 'b\n'.repeat(10) + '1%\r2%\n';

    it('serves its last lines', async () => {
      expect(await tail(0)).toBe('');
      expect(await tail(2)).toBe('b\n1%\r2%\n');
      expect(await tail(13)).toBe(`aa${'b'.repeat(10)}`.split('').join('\n') + '\n1%\r2%\n');
      expect(await tail(100_011)).toBe(most);
    });

    itLong('serves them in time that grows with their number', async () => {
      const startedMs = systemClock.monotonicMs();
      expect(await tail(100_011)).toBe(most);
      // it took 10 s by moving each line of the result for each line of the log
      expect(systemClock.monotonicMs() - startedMs).toBeLessThan(5_000);
    });
  });
});
