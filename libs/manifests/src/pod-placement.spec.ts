import { describe, expect, it } from '@jest/globals';
import { parseAgentPlacement, parsePodPlacement, placementOf } from './pod-placement.js';

describe('parsePodPlacement', () => {
  it('leaves out what is empty or was taken away', () => {
    const text = JSON.stringify({
      affinity: null,
      nodeSelector: {},
      tolerations: [],
      priorityClassName: '',
      labels: { team: 'a' },
    });
    expect(parsePodPlacement(text)).toEqual({ labels: { team: 'a' } });
  });

  it.each([
    ['[]', 'must be a JSON object'],
    ['{"size":1}', /^must have only labels, .*, but has size$/],
    ['{"tolerations":{}}', 'has a tolerations of another kind'],
  ])('refuses %s', (text, message) => {
    expect(() => parsePodPlacement(text)).toThrow(message);
  });
});

describe('parseAgentPlacement', () => {
  it('takes the six fields of a pod that say where it runs', () => {
    const placement = {
      nodeSelector: { pool: 'agents' },
      tolerations: [{ key: 'agents' }],
      affinity: { podAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1 }],
      priorityClassName: 'high',
      runtimeClassName: 'gvisor',
    };
    expect(parseAgentPlacement(JSON.stringify(placement))).toEqual(placement);
    expect(() => parseAgentPlacement('{"labels":{}}')).toThrow('but has labels');
  });
});

describe('placementOf', () => {
  const pods = { nodeSelector: { disk: 'fast' }, tolerations: [{ key: 'gpu', operator: 'Exists' }] } as const;

  it('brings pods to the process runtime where images are names of this machine', () => {
    expect(placementOf({ addresses: 'loopback', pods })).toEqual({
      nodeSelector: { disk: 'fast', 'agentplane.dev/runtime': 'process' },
      tolerations: [
        { key: 'gpu', operator: 'Exists' },
        { key: 'agentplane.dev/runtime', operator: 'Equal', value: 'process', effect: 'NoSchedule' },
      ],
    });
  });

  it('leaves the choice of nodes of a cluster to its operator', () => {
    expect(placementOf({ addresses: 'cluster-dns', pods })).toEqual(pods);
    expect(placementOf({ addresses: 'cluster-dns' })).toEqual({});
  });
});
