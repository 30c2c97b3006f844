import { pacedLook } from './paced-look.js';

describe('pacedLook', () => {
  it.each([
    ['looks at a single object as often as is wanted', 60_000, 1, 60_000],
    ['looks at 300 objects once a minute each, five a second', 60_000, 300, 60_000],
    ['looks at 1,000 objects no more than five a second', 60_000, 1_000, 200_000],
  ])('%s', (_what, wantedMs, count, ms) => {
    expect(pacedLook(wantedMs, count)).toBe(ms);
  });
});
