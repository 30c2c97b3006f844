import { describe, expect, it } from '@jest/globals';
import { kwargsOf } from './requested-run.js';

describe('kwargsOf', () => {
  it.each([
    [{}, undefined],
    [{ checkpoint_during: true }, 'async'],
    [{ checkpoint_during: false }, 'exit'],
    [{ checkpoint_during: false, durability: 'sync' as const }, 'sync'],
    [{ checkpoint_during: null, durability: null }, null],
  ])('makes of %j the durability %s', (asked, expected) => {
    const assistant = { assistant_id: 'a', config: {}, context: {} } as never;
    const submitter = { assistant, config: {}, caller: {} } as never;
    expect(kwargsOf({ assistant_id: 'a', ...asked }, submitter).durability ?? undefined).toBe(
      expected ?? undefined,
    );
  });
});
