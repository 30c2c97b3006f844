import { describe, expect, it } from '@jest/globals';
import { namedByPod } from './unmountable-secret.js';

describe('namedByPod', () => {
  it('reads the names of a pod once, however often a node asks', () => {
    let reads = 0;
    const envFrom = Array.from({ length: 1_000 }, (_, n) => ({ configMapRef: { name: `c-${n}` } }));
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      get spec() {
        reads++;
        return { containers: [{ name: 'main', envFrom }], imagePullSecrets: [{ name: 'pull' }] };
      },
    };
    expect(namedByPod(pod, 'configmaps').size).toBe(1_000);
    const first = reads;
    for (let asked = 0; asked < 1_000; asked++) expect(namedByPod(pod, 'configmaps').has('c-999')).toBe(true);
    expect(reads).toBe(first);
    expect([...namedByPod(pod, 'secrets')]).toEqual(['pull']);
  });
});
