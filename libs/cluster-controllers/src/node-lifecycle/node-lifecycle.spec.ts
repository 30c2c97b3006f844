import { describe, expect, it } from '@jest/globals';
import type { Node, Pod, Taint, Toleration } from '#lib/resources';
import { FakeClock } from '#lib/testing';
import {
  decideNodeHealth,
  evictionTimeMs,
  NOT_READY_TAINT,
  SignsOfLife,
  UNREACHABLE_TAINT,
} from './node-lifecycle-controller.js';

const NOW = new Date('2026-01-01T00:10:00Z');
const AT = '2026-01-01T00:10:00Z';

function node(ready: 'True' | 'False' | 'Unknown' | undefined, spec: Node['spec'] = {}): Node {
  const conditions = ready === undefined ? [] : [{ type: 'Ready', status: ready, reason: 'R', message: '' }];
  return { metadata: { name: 'n' }, spec, status: { conditions } };
}
const unreachable: Taint[] = [
  { key: UNREACHABLE_TAINT, effect: 'NoSchedule' },
  { key: UNREACHABLE_TAINT, effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' },
];

describe('decideNodeHealth', () => {
  const text = (taints: readonly Taint[] | undefined): string =>
    taints?.map(({ key, effect }) => `${key.split('/')[1] ?? key}:${effect}`).join(' ') ?? 'as they are';
  it.each<[string, Node, number, string, string]>([
    ['leaves a living node alone', node('True'), 40_000, 'as they are', 'as they are'],
    [
      'marks a silent node and taints it',
      node('True'),
      40_001,
      'Ready=Unknown NodeStatusUnknown',
      'unreachable:NoSchedule unreachable:NoExecute',
    ],
    [
      'marks a node that never spoke',
      node(undefined),
      40_001,
      'Ready=Unknown NodeStatusNeverUpdated',
      'unreachable:NoSchedule unreachable:NoExecute',
    ],
    ['marks it once', node('Unknown', { taints: unreachable }), 90_000, 'as they are', 'as they are'],
    [
      'taints a node that says itself that it is not ready',
      node('False'),
      0,
      'as they are',
      'not-ready:NoSchedule not-ready:NoExecute',
    ],
    [
      'takes the taints off a node that came back',
      node('True', { taints: [...unreachable, { key: 'mine', effect: 'NoSchedule' }] }),
      0,
      'as they are',
      'mine:NoSchedule',
    ],
    [
      'taints a cordoned node',
      node('True', { unschedulable: true }),
      0,
      'as they are',
      'unschedulable:NoSchedule',
    ],
  ])('%s', (_name, given, silentMs, conditions, taints) => {
    const health = decideNodeHealth({ node: given, silentMs, now: NOW });
    const ready = health.conditions?.find(({ type }) => type === 'Ready');
    expect(ready ? `Ready=${ready.status} ${ready.reason}` : 'as they are').toBe(conditions);
    expect(text(health.taints)).toBe(taints);
  });

  it('keeps the time of a taint, from which evictions count', () => {
    const health = decideNodeHealth({
      node: node('Unknown', { taints: unreachable.slice(1) }),
      silentMs: 90_000,
      now: NOW,
    });
    expect(health.taints).toContainEqual(unreachable[1]);
  });
});

describe('evictionTimeMs', () => {
  const pod = (tolerations: Toleration[]): Pod => ({
    metadata: { name: 'p' },
    spec: { containers: [], tolerations },
  });
  const tainted = (key: string): Node =>
    node('Unknown', { taints: [{ key, effect: 'NoExecute', timeAdded: AT }] });
  const afterSeconds = (seconds: number): number => NOW.getTime() + seconds * 1000;
  it.each<[string, Pod, Node, number | undefined]>([
    ['never without a taint', pod([]), node('True'), undefined],
    ['after five minutes by default', pod([]), tainted(UNREACHABLE_TAINT), afterSeconds(300)],
    [
      'after what the pod says',
      pod([{ key: NOT_READY_TAINT, operator: 'Exists', tolerationSeconds: 10 }]),
      tainted(NOT_READY_TAINT),
      afterSeconds(10),
    ],
    ['never when the pod says so', pod([{ operator: 'Exists' }]), tainted(NOT_READY_TAINT), undefined],
    ["at once for a person's taint", pod([]), tainted('example.com/drain'), afterSeconds(0)],
  ])('%s', (_name, given, where, expected) => expect(evictionTimeMs(given, where)).toBe(expected));
});

describe('SignsOfLife', () => {
  it('counts silence in time awake, and starts again after a suspension', async () => {
    const clock = new FakeClock();
    const signs = new SignsOfLife(clock);
    const look = async (ms: number, sign: string): Promise<number> => {
      await clock.advance(ms);
      signs.look();
      return signs.silentMs('n', sign);
    };
    expect(await look(5_000, 'a')).toBe(0);
    expect(await look(5_000, 'a')).toBe(5_000);
    expect(await look(5_000, 'b')).toBe(0);
    for (let i = 0; i < 7; i++) await look(5_000, 'b');
    expect(await look(6_000, 'b')).toBe(41_000);
    // a closed lid: an hour without a look
    expect(await look(3_600_000, 'b')).toBe(0);
    expect(await look(5_000, 'b')).toBe(5_000);
  });

  it('reports a recent wake-up for one lease duration', async () => {
    const clock = new FakeClock();
    const signs = new SignsOfLife(clock);
    const look = async (ms: number): Promise<boolean> => {
      await clock.advance(ms);
      signs.look();
      return signs.hasJustWoken;
    };
    expect(await look(5_000)).toBe(true);
    for (let i = 0; i < 6; i++) await look(5_000);
    expect([await look(5_000), await look(5_000)]).toEqual([true, false]);
    expect(await look(3_600_000)).toBe(true);
    for (let i = 0; i < 8; i++) await look(5_000);
    expect(await look(5_000)).toBe(false);
  });
});
