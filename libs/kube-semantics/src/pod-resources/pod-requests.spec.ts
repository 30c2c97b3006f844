import { describe, expect, it } from '@jest/globals';
import { parseAmounts, podRequests, shortages, usedBy } from './shortages.js';

const container = (cpu: string, more: object = {}) => ({ resources: { requests: { cpu } }, ...more });
const pod = (spec: object) => ({ spec });

describe('podRequests', () => {
  it.each<[string, object, bigint]>([
    ['adds the containers', { containers: [container('200m'), container('300m')] }, 500n],
    [
      'takes the greediest init container when that is more',
      { containers: [container('200m')], initContainers: [container('1'), container('2')] },
      2_000n,
    ],
    [
      'adds sidecars to the containers, and to the init containers after them',
      {
        containers: [container('1')],
        initContainers: [container('3'), container('500m', { restartPolicy: 'Always' }), container('4')],
      },
      4_500n,
    ],
    ['adds the overhead', { containers: [container('1')], overhead: { cpu: '250m' } }, 1_250n],
    [
      'takes a limit for a request that is missing',
      { containers: [{ resources: { limits: { cpu: '3' } } }] },
      3_000n,
    ],
    [
      'takes what the pod asks for as a whole in place of its containers',
      { containers: [container('1')], resources: { requests: { cpu: '7' } } },
      7_000n,
    ],
    [
      'counts nothing for what is negative or no quantity',
      { containers: [container('1'), container('many')], overhead: { cpu: '-1' } },
      1_000n,
    ],
  ])('%s', (_name, spec, millicores) => {
    expect(podRequests(pod(spec)).get('cpu')).toBe(millicores * 1_000_000n);
    expect(podRequests(pod(spec)).get('pods')).toBe(1_000_000_000n);
  });
});

describe('shortages', () => {
  const allocatable = parseAmounts({ cpu: '1', pods: '10' });
  it('lets the last bit be taken, and names what is beyond with its numbers', () => {
    const used = usedBy([pod({ containers: [container('700m'), container('200m')] })]);
    expect(shortages(podRequests(pod({ containers: [container('100m')] })), used, allocatable)).toEqual([]);
    expect(shortages(podRequests(pod({ containers: [container('101m')] })), used, allocatable)).toEqual([
      { resource: 'cpu', requested: 101_000_000n, used: 900_000_000n, capacity: 1_000_000_000n },
    ]);
  });
});
