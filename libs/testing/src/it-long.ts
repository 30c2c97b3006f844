import { it } from '@jest/globals';
import { hasRealKubernetes, testApiServer } from './test-api-server.js';
import { testEmbeddedKube } from './test-embedded-kube.js';

const isLong = process.env['AGENTPLANE_LONG_TESTS'] === '1';

/**
 * A test that takes long and shows for more cases what a test beside it shows with every change: skipped except by
 * `npm run test:long`, which finds it by this name. docs/long-tests.md keeps the last result.
 */
export const itLong: typeof it = isLong ? it : (it.skip as typeof it);

/**
 * API servers against which a `describe.each` runs: the embedded one with every change, and a real one by
 * `npm run test:long`, which finds the file by this name.
 */
export const API_SERVERS: readonly {
  readonly name: string;
  readonly home: () => { readonly kubeconfigPath: string };
}[] = [
  { name: 'the embedded API server', home: testEmbeddedKube },
  ...(isLong && hasRealKubernetes ? [{ name: 'a real API server', home: testApiServer }] : []),
];
