import { describe, expect, it } from '@jest/globals';
import { DestinationTests, type PerformTest } from './destinations.js';

const SETTINGS = {} as Parameters<PerformTest>[0];
const USABLE = { kind: 'usable', canDelete: true, canRead: true } as const;

describe('tests of destinations', () => {
  it('leaves a share to other workspaces, and refuses the next of its own with 429', async () => {
    const end: (() => void)[] = [];
    const tests = new DestinationTests(() => new Promise((resolve) => end.push(() => resolve(USABLE))));
    const test = (tenant: string): Promise<unknown> => tests.run(tenant, SETTINGS, 'b', undefined);
    const running = Array.from({ length: 32 }, () => test('a'));
    await expect(test('a')).rejects.toMatchObject({ code: 'too_many' });
    running.push(...Array.from({ length: 16 }, () => test('b')));
    await expect(test('b')).rejects.toMatchObject({ code: 'too_many' });
    running.push(test('c'));
    expect(end).toHaveLength(49);
    for (const one of end) one();
    expect(await Promise.all(running)).toHaveLength(49);
    const again = test('a');
    end.at(-1)?.();
    expect(await again).toEqual(USABLE);
  });
});
