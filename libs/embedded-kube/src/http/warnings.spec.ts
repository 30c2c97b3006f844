import { describe, expect, it } from '@jest/globals';
import { testApi } from '../testdata/test-api.js';

describe('a warning of the API server', () => {
  const api = testApi();

  it.each([
    ['letters beyond Latin-1', 'naïve日本'],
    ['a line break', 'a\r\nb'],
    ['a control character', 'a\u0001b'],
    ['a very long text', 'x'.repeat(100_000)],
  ])('reaches a caller who names a field with %s', async (_what, name) => {
    const path = '/api/v1/namespaces/default/configmaps?dryRun=All';
    const text = JSON.stringify({ metadata: { name: 'warned' }, [name]: 1 });
    const { code, headers } = await api.admin.call('POST', path, { body: text });
    expect(code).toBe(201);
    const warning = String(headers['warning']);
    expect(warning).toMatch(/^299 - "unknown field/);
    expect(warning.length).toBeLessThan(1_000);
  });

  it('has the bytes of UTF-8, without control characters', async () => {
    const path = '/api/v1/namespaces/default/configmaps?dryRun=All';
    const body = { metadata: { name: 'warned' }, '日\r\n本': 1 };
    const { headers } = await api.admin.call('POST', path, { body });
    expect(Buffer.from(String(headers['warning']), 'latin1').toString()).toBe(
      '299 - "unknown field \\"日  本\\""',
    );
  });
});
