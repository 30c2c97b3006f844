import type { RunLoad } from '#lib/lifecycle';
import type { AgentRevision, Deployment } from '#lib/resources';
import { PodScaler, podsHeld, roomFor } from './pod-scaler.js';

const load = (waiting: number, atWork: number, places = 10): RunLoad => ({ waiting, atWork, places });
const revision = (resourceSpec: AgentRevision['spec']['resourceSpec']) =>
  ({ metadata: { name: 'a' }, spec: { resourceSpec } }) as AgentRevision;

const workload = (wanted: number, present: number) =>
  ({ metadata: { name: 'a' }, spec: { replicas: wanted }, status: { replicas: present } }) as Deployment;
const NONE = { workload: undefined, queue: undefined };

/** Decisions look by look, each after so many seconds and with such runs. */
function decided(
  looks: readonly (readonly [second: number, load: RunLoad | undefined])[],
  { min = 1, max = 5, room = 100, current = 1 } = {},
): number[] {
  const scaler = new PodScaler();
  let pods = current;
  return looks.map(([second, runs]) => {
    pods = scaler.decide('u', { current: pods, range: { min, max }, room, load: runs }, second * 1_000);
    return pods;
  });
}

describe('the number of pods that take runs', () => {
  it('grows at once to what runs at work and waiting runs need, and not beyond the most', () => {
    expect(
      decided([
        [0, load(0, 3)],
        [5, load(15, 10)],
        [10, load(500, 30)],
      ]),
    ).toEqual([1, 3, 5]);
  });

  it('shrinks once fewer were enough for a minute', () => {
    const looks = [0, 5, 30, 64, 65, 66].map(
      (second) => [second, second < 5 ? load(35, 10) : load(0, 12)] as const,
    );
    expect(decided(looks)).toEqual([5, 5, 5, 2, 2, 2]);
    expect(
      decided(
        [
          [0, load(0, 0)],
          [59, load(0, 0)],
          [61, load(0, 0)],
        ],
        { current: 4 },
      ),
    ).toEqual([4, 4, 1]);
  });

  it('stays as it is while no pod answers', () => {
    expect(
      decided([
        [0, load(30, 0)],
        [100, undefined],
        [200, undefined],
      ]),
    ).toEqual([3, 3, 3]);
  });

  it('counts a pod without a place for one', () => {
    expect(decided([[0, load(4, 0, 0)]])).toEqual([4]);
  });

  it.each<[string, number, number, number]>([
    ['more where pods use more than four fifths of what they ask for', 1.2, 2, 3],
    ['as many where pods use about as much', 0.85, 2, 2],
    ['one more for each time that much', 1.6, 1, 2],
    ['what runs need where that is more', 0.1, 2, 4],
  ])('becomes %s', (_case, cores, current, pods) => {
    const runs = cores === 0.1 ? load(40, 0) : load(0, 0);
    const question = { current, range: { min: 1, max: 9 }, room: 100, coresOfPod: 1 };
    expect(new PodScaler().decide('u', { ...question, load: { ...runs, cores } }, 0)).toBe(pods);
  });

  it('stays within what the database admits, but for the fewest', () => {
    expect(decided([[0, load(90, 0)]], { room: 2 })).toEqual([2]);
    expect(decided([[0, load(90, 0)]], { room: -3, min: 2 })).toEqual([2]);
  });

  it('leaves connections to other revisions that have pods', () => {
    const scaled = revision({ queueMaxScale: 3 });
    expect(roomFor(scaled, 1, 0)).toBe(9);
    const held =
      podsHeld({ ...NONE, origin: scaled }, true) +
      podsHeld({ ...NONE, origin: revision({ minScale: 2 }) }, true);
    expect(roomFor(scaled, 1, held)).toBe(5);
    expect(roomFor(scaled, 1, 0, 59)).toBe(5);
  });

  it('counts the pods that a revision still has where they are more than its fewest', () => {
    const origin = revision({ minScale: 1, maxScale: 5, queueMinScale: 1, queueMaxScale: 4 });
    expect(podsHeld({ origin, workload: workload(5, 5), queue: workload(3, 3) }, true)).toBe(8);
    expect(podsHeld({ origin, workload: workload(0, 2), queue: undefined }, false)).toBe(2);
    expect(podsHeld({ origin, workload: workload(0, 0), queue: workload(0, 0) }, true)).toBe(2);
  });
});
