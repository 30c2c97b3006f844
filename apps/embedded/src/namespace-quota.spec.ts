import { describe, expect, it } from '@jest/globals';
import { parseQuota } from './namespace-quota.js';

describe('the quota of namespaces', () => {
  it('applies to workspaces alone', () => {
    const { appliesTo } = parseQuota([]);
    expect(['ws-default', 'agentplane-system', 'kube-system', ''].map(appliesTo)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it('takes single limits in place of its own', () => {
    expect(parseQuota(['ports=7', 'megabytes=2', 'configmaps=3'])).toMatchObject({
      objects: 20_000,
      ports: 7,
      letters: 2_097_152,
      kinds: { configmaps: 3, pods: 500 },
    });
  });

  it.each(['ports', 'ports=-1', 'ports=many', '=3', 'Ports=3'])('refuses %j by name', (word) => {
    expect(() => parseQuota([word])).toThrow(`AGENTPLANE_NAMESPACE_QUOTA: "${word}" is no limit`);
  });
});
