import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ObjectStoreError } from '#lib/object-store';
import { createLogger } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import type { SealedDay } from '#lib/trace-store';
import { sealDays } from './seal-days.js';

const DAY: SealedDay = {
  tenantId: randomUUID(),
  projectId: randomUUID(),
  day: '2026-11-20',
  rows: 1,
  bytes: 1,
  copiedBytes: 0,
  files: 1,
  generation: 1,
};

interface Ran {
  readonly exitCode: number;
  readonly asked: number;
  readonly published: number;
  readonly tidied: number;
}

/** @param steps effect of each call of `sealNext`; nothing is due after them */
async function run(
  steps: readonly ((clock: FakeClock, abort: AbortController) => Promise<SealedDay> | Promise<never>)[],
  {
    publish = () => Promise.resolve(),
    tidy = () => Promise.resolve(),
  }: Partial<Record<'publish' | 'tidy', () => Promise<void>>> = {},
): Promise<Ran> {
  const clock = new FakeClock(new Date());
  const abort = new AbortController();
  let [asked, published, tidied] = [0, 0, 0];
  const lake = {
    sealNext: async () => await steps[asked++]?.(clock, abort),
    async publish() {
      published++;
      await publish();
    },
    async tidy() {
      tidied++;
      await tidy();
    },
  };
  const log = createLogger('test', 'silent');
  const exitCode = await sealDays({ lake, clock, signal: abort.signal, log });
  return { exitCode, asked, published, tidied };
}

const sealed = () => Promise.resolve(DAY);
const failed = () => Promise.reject(new Error('the day is odd'));
const refused = () => Promise.reject(new ObjectStoreError('AccessDenied', 'put k'));

describe('sealDays', () => {
  it('seals until nothing is due, then publishes tables and removes unnamed objects', async () => {
    expect(await run([sealed, sealed])).toEqual({ exitCode: 0, asked: 3, published: 1, tidied: 1 });
  });

  it('seals the days after one that failed, and reports the failure', async () => {
    expect(await run([failed, sealed])).toEqual({ exitCode: 75, asked: 3, published: 1, tidied: 1 });
  });

  it('ends with the third failure', async () => {
    expect(await run([refused, refused, refused, sealed])).toEqual({
      exitCode: 65,
      asked: 3,
      published: 1,
      tidied: 1,
    });
  });

  it('begins no day after ten minutes', async () => {
    const slow = async (clock: FakeClock) => {
      await clock.advance(600_000);
      return DAY;
    };
    expect(await run([slow, sealed])).toEqual({ exitCode: 0, asked: 1, published: 1, tidied: 1 });
  });

  it('ends as retryable when asked to stop', async () => {
    const stopped = (_clock: FakeClock, abort: AbortController) => {
      abort.abort();
      return sealed();
    };
    expect(await run([stopped, sealed])).toEqual({ exitCode: 75, asked: 1, published: 0, tidied: 0 });
  });

  it('reports objects that could not be removed', async () => {
    expect(await run([sealed], { tidy: refused })).toEqual({
      exitCode: 65,
      asked: 2,
      published: 1,
      tidied: 1,
    });
  });

  it('removes unnamed objects when a table could not be published, and reports it', async () => {
    expect(await run([sealed], { publish: refused })).toEqual({
      exitCode: 65,
      asked: 2,
      published: 1,
      tidied: 1,
    });
  });
});
