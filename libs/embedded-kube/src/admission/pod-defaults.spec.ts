import { describe, expect, it } from '@jest/globals';
import { testApi } from '../testdata/test-api.js';

const CORE = '/api/v1/namespaces/default';

describe('a pod of a service account that does not want its token mounted', () => {
  const api = testApi();
  const made = async (name: string, own?: boolean): Promise<unknown> => {
    const { body } = await api.admin.call('POST', `${CORE}/pods`, {
      body: {
        metadata: { name },
        spec: {
          containers: [{ name: 'main', image: 'x' }],
          serviceAccountName: 'shy',
          ...(own === undefined ? {} : { automountServiceAccountToken: own }),
        },
      },
    });
    return (body as { spec: Record<string, unknown> }).spec['automountServiceAccountToken'];
  };

  it('has none unless it asks for it', async () => {
    await api.admin.create(`${CORE}/serviceaccounts`, {
      metadata: { name: 'shy' },
      automountServiceAccountToken: false,
    });
    expect(await made('silent')).toBe(false);
    expect(await made('asking', true)).toBe(true);
    expect(await made('refusing', false)).toBe(false);
  });
});
