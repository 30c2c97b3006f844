import { it } from '@jest/globals';

/**
 * A test that takes long and shows for more cases what a test beside it shows with every change: skipped except by
 * `npm run test:long`, which finds it by this name. docs/long-tests.md keeps the last result.
 */
export const itLong: typeof it = process.env['AGENTPLANE_LONG_TESTS'] === '1' ? it : (it.skip as typeof it);
