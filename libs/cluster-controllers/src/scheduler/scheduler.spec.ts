import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { usedBy } from '#lib/kube-semantics';
import type { Node, Pod, Taint, Toleration } from '#lib/resources';
import { decideNode } from './scheduler-controller.js';
import { tolerates } from './tolerates.js';

const pod = (requests: Record<string, string> = {}, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { namespace: 'ns', name: 'p' },
  spec: { containers: [{ name: 'main', resources: { requests } }], ...spec },
});
const node = (
  name: string,
  allocatable: Record<string, string> = {},
  more: Partial<Node['spec']> = {},
  ready = 'True',
): Node => ({
  metadata: { name, labels: { disk: name === 'fast' ? 'ssd' : 'hdd' } },
  spec: more,
  status: {
    allocatable: { cpu: '2', memory: '4Gi', pods: '10', ...allocatable },
    conditions: [{ type: 'Ready', status: ready as 'True' }],
  },
});
const taint: Taint = { key: 'team', value: 'a', effect: 'NoSchedule' };
const empty = (one: Node): { node: Node; used: ReadonlyMap<string, bigint> } => ({
  node: one,
  used: new Map(),
});

describe('decideNode', () => {
  it.each<[string, Pod, Node[], string]>([
    ['takes a node with room', pod({ cpu: '1' }), [node('n')], 'n'],
    ['takes the last bit of a node', pod({ cpu: '2', memory: '4Gi' }), [node('n')], 'n'],
    [
      'says what is not enough',
      pod({ cpu: '3', memory: '8Gi' }),
      [node('n')],
      '0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.',
    ],
    [
      'counts nodes by reason',
      pod({ cpu: '3' }),
      [node('a'), node('b'), node('c', {}, {}, 'False')],
      '0/3 nodes are available: 1 node(s) were not ready, 2 Insufficient cpu.',
    ],
    [
      'keeps to the selector',
      pod({}, { nodeSelector: { disk: 'ssd' } }),
      [node('slow'), node('fast')],
      'fast',
    ],
    [
      'says that no selector fits',
      pod({}, { nodeSelector: { disk: 'tape' } }),
      [node('n')],
      "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ],
    [
      'leaves out cordoned nodes',
      pod(),
      [node('n', {}, { unschedulable: true })],
      '0/1 nodes are available: 1 node(s) were unschedulable.',
    ],
    [
      'leaves out tainted nodes',
      pod(),
      [node('n', {}, { taints: [taint] })],
      '0/1 nodes are available: 1 node(s) had untolerated taint {team: a}.',
    ],
    [
      'takes a tainted node that it tolerates',
      pod({}, { tolerations: [{ key: 'team', operator: 'Exists' }] }),
      [node('n', {}, { taints: [taint] })],
      'n',
    ],
    [
      'does not mind a soft taint',
      pod(),
      [node('n', {}, { taints: [{ ...taint, effect: 'PreferNoSchedule' }] })],
      'n',
    ],
    [
      'knows resources of other names',
      pod({ 'example.com/gpu': '1' }),
      [node('n'), node('g', { 'example.com/gpu': '1' })],
      'g',
    ],
    ['says that there are no nodes', pod(), [], 'no nodes available to schedule pods'],
    [
      'says when there are too many pods',
      pod(),
      [node('n', { pods: '0' })],
      '0/1 nodes are available: 1 Too many pods.',
    ],
  ])('%s', (_name, given, nodes, expected) => {
    const placement = decideNode(given, nodes.map(empty));
    expect(placement.kind === 'bind' ? placement.nodeName : placement.message).toBe(expected);
  });

  it('fills nodes evenly', () => {
    const used = usedBy([pod({ cpu: '1' })]);
    const placement = decideNode(pod({ cpu: '500m' }), [{ node: node('busy'), used }, empty(node('idle'))]);
    expect(placement).toEqual({ kind: 'bind', nodeName: 'idle' });
  });

  it('never exceeds the capacity of a node', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 1_000 }), { maxLength: 40 }), (requests) => {
        const bound = new Map<string, Pod[]>([
          ['a', []],
          ['b', []],
        ]);
        for (const milli of requests) {
          const next = pod({ cpu: `${milli}m` });
          const loads = [...bound].map(([name, pods]) => ({ node: node(name), used: usedBy(pods) }));
          const placement = decideNode(next, loads);
          if (placement.kind === 'bind') bound.get(placement.nodeName)?.push(next);
        }
        for (const pods of bound.values()) {
          expect((usedBy(pods).get('cpu') ?? 0n) <= 2_000_000_000n).toBe(true);
          expect(pods.length).toBeLessThanOrEqual(10);
        }
      }),
    );
  });
});

describe('tolerates', () => {
  it.each<[string, Toleration, boolean]>([
    ['the same key and value', { key: 'team', value: 'a' }, true],
    ['another value', { key: 'team', value: 'b' }, false],
    ['any value of the key', { key: 'team', operator: 'Exists' }, true],
    ['everything', { operator: 'Exists' }, true],
    ['nothing without a key', { value: 'a' }, false],
    ['another effect', { key: 'team', operator: 'Exists', effect: 'NoExecute' }, false],
  ])('%s', (_name, toleration, expected) => expect(tolerates(toleration, taint)).toBe(expected));
});
