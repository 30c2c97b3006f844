import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { lockStore } from './store-lock.js';

/** Each look at it comes a second after the last. */
function hastyClock(): Clock {
  let ms = 0;
  return { ...systemClock, monotonicMs: () => (ms += 1_000) };
}

/** No process has it: beyond the largest that Linux gives. */
const ENDED = '99999999';

describe('lockStore', () => {
  const folder = temporaryFolder();
  const path = join(folder, '.index.lock');

  it('names its holder as soon as it exists, and leaves nothing behind', async () => {
    const release = await lockStore(folder, hastyClock());
    expect(readFileSync(path, 'utf8')).toBe(String(process.pid));
    expect(readdirSync(folder)).toEqual(['.index.lock']);
    await release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes the lock of a process that has ended', async () => {
    writeFileSync(path, ENDED);
    const release = await lockStore(folder, hastyClock());
    expect(readFileSync(path, 'utf8')).toBe(String(process.pid));
    await release();
  });

  it('takes an empty lock that is older than a minute, as a crash may leave one', async () => {
    writeFileSync(path, '');
    const clock = hastyClock();
    const old = new Date(clock.now().getTime() - 61_000);
    utimesSync(path, old, old);
    const release = await lockStore(folder, clock);
    await release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses after some seconds while its holder lives', async () => {
    const release = await lockStore(folder, hastyClock());
    await expect(lockStore(folder, hastyClock())).rejects.toThrow(
      new RegExp(`is locked by process ${process.pid}; try again when it has ended`),
    );
    await release();
    expect(readdirSync(folder)).toEqual([]);
  });
});
