import { describe, expect, it } from '@jest/globals';
import { at, numberAt } from '#lib/kube-semantics';
import { testApi } from '../testdata/test-api.js';

const SPACE = '/api/v1/namespaces/default';

describe('the deletion of a pod', () => {
  const api = testApi();

  it('works with any grace that its spec names', async () => {
    await api.admin.create(`${SPACE}/serviceaccounts`, { metadata: { name: 'default' } });
    const containers = [{ name: 'main', image: 'image' }];
    const made = await api.admin.create(`${SPACE}/pods`, {
      metadata: { name: 'patient' },
      spec: { containers, nodeName: 'node', terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER },
    });
    expect(made.code).toBe(201);
    const { code, body } = await api.admin.delete(`${SPACE}/pods/patient`);
    expect(code).toBe(200);
    expect(numberAt(body, ['metadata', 'deletionGracePeriodSeconds'], 0)).toBe(2 ** 31 - 1);
    expect(at(body, 'metadata', 'deletionTimestamp')).toBeDefined();
  });
});
