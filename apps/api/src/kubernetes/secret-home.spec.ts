import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeClient } from '#lib/kube';
import { SecretHome } from './secret-home.js';

describe('names of what is in Secrets', () => {
  let nowMs: number;
  let isImmutable: boolean;
  let reads: (() => void)[];
  let home: SecretHome;

  beforeEach(() => {
    [nowMs, isImmutable, reads] = [0, true, []];
    const find = (): Promise<unknown> =>
      new Promise((resolve) =>
        reads.push(() => resolve({ immutable: isImmutable, data: { b: 'Mg==', a: 'MQ==' } })),
      );
    const client = { find, delete: async () => undefined } as unknown as KubeClient;
    home = new SecretHome(client, { monotonicMs: () => nowMs });
  });

  const names = (name = 's', namespace = 'one'): Promise<readonly string[]> =>
    home.names({ namespace, name });
  const settled = async (): Promise<number> => {
    for (let n = 0; n < 10; n++) await Promise.resolve();
    return reads.length;
  };
  const answerAll = async (): Promise<void> => {
    while ((await settled()) > 0) reads.shift()?.();
  };

  it('reads a Secret that cannot change once in a while', async () => {
    for (const [atMs, count] of [
      [0, 1],
      [29_000, 0],
      [31_000, 1],
    ] as const) {
      nowMs = atMs;
      const asked = names();
      expect([atMs, await settled()]).toEqual([atMs, count]);
      await answerAll();
      expect(await asked).toEqual(['a', 'b']);
    }
  });

  it.each<[string, () => Promise<void>]>([
    [
      'changes',
      async () => {
        isImmutable = false;
        const asked = names();
        await answerAll();
        await asked;
      },
    ],
    [
      'was deleted here',
      async () => {
        const asked = names();
        await answerAll();
        await asked;
        await home.delete({ namespace: 'one', name: 's' });
      },
    ],
  ])('reads a Secret that %s again', async (_title, before) => {
    await before();
    const asked = names();
    expect(await settled()).toBe(1);
    await answerAll();
    await asked;
  });

  it('reads few Secrets of a namespace at a time, and those of others beside them', async () => {
    const asked = Array.from({ length: 100 }, (_, n) => names(`s${n}`));
    expect(await settled()).toBe(12);
    asked.push(...Array.from({ length: 100 }, (_, n) => names(`s${n}`, 'two')));
    expect(await settled()).toBe(18);
    await answerAll();
    expect(await Promise.all(asked)).toHaveLength(200);
  });
});
