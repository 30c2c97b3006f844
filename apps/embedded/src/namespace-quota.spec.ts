import { describe, expect, it } from '@jest/globals';
import { parseQuota } from './kubernetes.js';

const CAPACITY = { cpu: '4', memory: '8388607Ki', pods: '110' };

describe('the quota of namespaces', () => {
  it('applies to workspaces alone', () => {
    const { appliesTo } = parseQuota([], CAPACITY);
    expect(['ws-default', 'agentplane-system', 'kube-system', ''].map(appliesTo)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it('takes single limits in place of its own', () => {
    expect(parseQuota(['ports=7', 'megabytes=2', 'configmaps=3'], CAPACITY)).toMatchObject({
      objects: 20_000,
      ports: 7,
      letters: 2_097_152,
      kinds: { configmaps: 3, pods: 500 },
    });
  });

  it('leaves a fifth of what the machine offers to others, unless it is set otherwise', () => {
    const MIB = 2n ** 20n * 10n ** 9n;
    expect(parseQuota([], CAPACITY).requests).toEqual(
      new Map([
        ['cpu', 3_200_000_000n],
        ['memory', 6_553n * MIB],
        ['pods', 88_000_000_000n],
      ]),
    );
    const { requests, kinds } = parseQuota(['pods=7', 'requests.cpu=1500m', 'count/pods=9'], CAPACITY);
    expect([requests.get('pods'), requests.get('cpu'), kinds['pods']]).toEqual([
      7_000_000_000n,
      1_500_000_000n,
      9,
    ]);
  });

  it.each([
    'requests.cpu=much',
    'pods=',
    'count/secrets=3',
    'ports',
    'ports=-1',
    'ports=many',
    '=3',
    'Ports=3',
  ])('refuses %j by name', (word) => {
    expect(() => parseQuota([word], CAPACITY)).toThrow(`AGENTPLANE_NAMESPACE_QUOTA: "${word}" is no limit`);
  });
});
