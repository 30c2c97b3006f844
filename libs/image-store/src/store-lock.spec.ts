import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownIdentity } from '#lib/process-identity';
import { temporaryFolder } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { lockStore } from './store-lock.js';

/** Each look at it comes a second after the last. */
function hastyClock(): Clock {
  let ms = 0;
  return { ...systemClock, monotonicMs: () => (ms += 1_000) };
}

/** No process has it: beyond the largest that Linux gives. */
const ENDED = 99_999_999;

describe('lockStore', () => {
  const folder = temporaryFolder();
  const path = join(folder, '.index.lock');

  it('names its holder as soon as it exists, and leaves nothing behind', async () => {
    const release = await lockStore(folder, hastyClock());
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject(ownIdentity());
    expect(readdirSync(folder)).toEqual(['.index.lock']);
    await release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['a process that has ended', { pid: ENDED, startedAt: 'a boot/1' }],
    ['a process whose pid was given to this one', { ...ownIdentity(), startedAt: 'a boot/1' }],
    ['a process of an older version that has ended', ENDED],
    ['a process of an older version whose pid was given to this one', process.pid],
  ])('takes the lock of %s', async (_, holder) => {
    writeFileSync(path, JSON.stringify(holder));
    const release = await lockStore(folder, hastyClock());
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject(ownIdentity());
    await release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves the lock of another where its own was taken away', async () => {
    const release = await lockStore(folder, hastyClock());
    const other = JSON.stringify({ ...ownIdentity(), mark: 'another' });
    writeFileSync(path, other);
    await release();
    expect(readFileSync(path, 'utf8')).toBe(other);
    rmSync(path);
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

  it('takes no lock that it cannot read, however old', async () => {
    mkdirSync(path);
    const clock = hastyClock();
    const old = new Date(clock.now().getTime() - 61_000);
    utimesSync(path, old, old);
    await expect(lockStore(folder, clock)).rejects.toThrow(/EISDIR/);
    expect(readdirSync(folder)).toEqual(['.index.lock']);
    rmSync(path, { recursive: true });
  });

  it('releases a lock that it cannot read', async () => {
    const release = await lockStore(folder, hastyClock());
    // only root reads it now
    chmodSync(path, 0);
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
