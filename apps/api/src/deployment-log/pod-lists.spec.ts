import { describe, expect, it } from '@jest/globals';
import type { KubeClient } from '#lib/kube';
import { followLogs } from '#lib/pod-logs';
import type { Pod } from '#lib/resources';
import { FakeClock } from '#lib/testing';
import { RestingTurns } from '../kubernetes/resting-turns.js';
import { MAX_PODS, PodLists, type PodSelection } from './logged-pods.js';

const TIDE: PodSelection = { namespace: 'ws', labelSelector: 'agentplane.dev/deployment=tide' };

const podOf = (name: string): Pod => ({
  metadata: { name, namespace: 'ws', annotations: { note: 'x'.repeat(100_000) } },
  spec: { containers: [{ name: 'main', env: [{ name: 'A', value: 'x'.repeat(100_000) }] }] },
  status: {
    phase: 'Pending',
    containerStatuses: [
      {
        name: 'main',
        ready: false,
        restartCount: 1,
        image: 'x'.repeat(1_000),
        imageID: '',
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'x'.repeat(4_000) } },
        lastState: { terminated: { exitCode: 1, message: 'x'.repeat(4_000) } },
      },
    ],
  },
});

/** Counts lists, each of which takes a while. */
class Lister {
  readonly asked: PodSelection[] = [];
  pages = this.#pages.bind(this) as unknown as KubeClient['pages'];

  constructor(
    private readonly clock: FakeClock,
    private readonly pods: readonly Pod[],
    private readonly takesMs = 0,
  ) {}

  async *#pages(_ref: object, { namespace = '', labelSelector = '', pageSize = 500 }) {
    this.asked.push({ namespace, labelSelector });
    await this.clock.sleep(this.takesMs);
    for (let at = 0; at < this.pods.length; at += pageSize)
      yield { items: this.pods.slice(at, at + pageSize), resourceVersion: '1' };
  }
}

/** The answer that comes without any time passing. */
async function atOnce<T>(clock: FakeClock, answer: Promise<T>): Promise<T> {
  await clock.advance(0);
  return await answer;
}

function listsOf(clock: FakeClock, lister: Lister): PodLists {
  return new PodLists(lister, new RestingTurns(clock), clock);
}

describe('PodLists', () => {
  it('lists once in two seconds for all who follow the same pods', async () => {
    const clock = new FakeClock();
    const lister = new Lister(clock, [podOf('one')]);
    const lists = listsOf(clock, lister);
    const leaving = new AbortController();
    for (let reader = 0; reader < 16; reader++)
      void (async () => {
        const batches = followLogs({
          client: { podLogs: () => new Promise(() => undefined) },
          pods: async () => (await lists.find(TIDE, { isRecent: true })).pods,
          endsWithPods: false,
          idleMs: 15_000,
          clock,
          signal: leaving.signal,
          container: 'none',
          onNote: () => undefined,
        });
        for await (const _lines of batches) continue;
      })().catch(() => undefined);
    await clock.advance(9_999);
    expect(lister.asked.length).toBe(5);
    leaving.abort(new Error('left'));
    await clock.advance(0);
  });

  it('reads costly lists of a namespace one after another, for a tenth of the time', async () => {
    const clock = new FakeClock();
    const lister = new Lister(clock, [podOf('one')], 300);
    const lists = listsOf(clock, lister);
    const selections = Array.from({ length: 8 }, (_, n) => ({ ...TIDE, labelSelector: `d=${n}` }));
    const all = Promise.all(
      [...selections, ...selections].map((selection) => lists.find(selection, { isRecent: false })),
    );
    await clock.advance(12_000);
    expect(lister.asked.length).toBe(5);
    await clock.advance(12_000);
    await all;
    expect(lister.asked.length).toBe(8);
  });

  it('begins a list for who asks after the present one began', async () => {
    const clock = new FakeClock();
    const lister = new Lister(clock, [podOf('one')]);
    const lists = listsOf(clock, lister);
    await atOnce(clock, lists.find(TIDE, { isRecent: false }));
    await atOnce(clock, lists.find(TIDE, { isRecent: true }));
    expect(lister.asked.length).toBe(1);
    await atOnce(clock, lists.find(TIDE, { isRecent: false }));
    expect(lister.asked.length).toBe(2);
  });

  it('keeps of a pod what logs need', async () => {
    const clock = new FakeClock();
    const lists = listsOf(clock, new Lister(clock, [podOf('one')]));
    const { pods } = await atOnce(clock, lists.find(TIDE, { isRecent: false }));
    expect(JSON.stringify(pods).length).toBeLessThan(500);
    expect(pods[0]?.status?.containerStatuses?.[0]).toMatchObject({
      name: 'main',
      restartCount: 1,
      lastState: { terminated: { exitCode: 1 } },
    });
  });

  it('ends with so many pods, and names none that cannot be', async () => {
    const clock = new FakeClock();
    const lister = new Lister(
      clock,
      Array.from({ length: MAX_PODS + 1 }, (_, n) => podOf(`p${n}`)),
    );
    const lists = listsOf(clock, lister);
    const { pods, isCut } = await atOnce(clock, lists.find(TIDE, { isRecent: false }));
    expect([pods.length, isCut]).toEqual([MAX_PODS, true]);
    const none = await atOnce(clock, lists.find({ ...TIDE, pod: 'a,b=c' }, { isRecent: false }));
    expect([none, lister.asked.length]).toEqual([{ pods: [], isCut: false }, 1]);
  });
});
