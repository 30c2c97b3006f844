import type { IdleAnswer } from '#lib/lifecycle';
import { type Deployment, findCondition, formatSleepNote, type Pod, type SleepNote } from '#lib/resources';
import { summarizeRevision } from './revision-status.js';
import { decideSleep, idleQuestion, type LastWake, type Sleep, unreportedMs } from './sleep.js';
import { NOW, revision, SECONDS, world } from './testdata/sample-rollout.js';
import type { RevisionWorld, RolloutWorld } from './world.js';

const IDLE: IdleAnswer = { idleMs: 300_000, isBusy: false, workInMs: undefined, isClosed: false };
const CLOSED: IdleAnswer = { ...IDLE, isClosed: true };
const inSeconds = (seconds: number): string => SECONDS(-seconds);

interface Scene {
  readonly replicas?: 0 | 1;
  readonly isReady?: boolean;
  readonly idle?: IdleAnswer;
  readonly note?: SleepNote;
  /** Value of the annotation by which requests ask. */
  readonly wake?: string;
  readonly asleepSince?: string | undefined;
  readonly wakeAt?: string;
  readonly lastWake?: LastWake;
  readonly ending?: number;
  readonly minScale?: number;
  readonly isHeld?: boolean;
  readonly suspend?: boolean;
  readonly idleSeconds?: number;
  /** Exit code of its container. */
  readonly exitCode?: number;
  readonly others?: readonly RevisionWorld[];
}

function scene(given: Scene): { readonly world: RolloutWorld; readonly one: RevisionWorld } {
  const { replicas = 1, isReady = replicas === 1, minScale = 0, note } = given;
  const container =
    given.exitCode === undefined
      ? undefined
      : { restartCount: 1, lastState: { terminated: { exitCode: given.exitCode } } };
  const base = revision({ number: 1, ready: isReady, ...(container ? { container } : {}) });
  const own = {
    ...base.revision,
    spec: { ...base.revision.spec, resourceSpec: { minScale } },
    status: {
      ...base.revision.status,
      ...(given.asleepSince === undefined ? {} : { asleepSince: given.asleepSince }),
      ...(given.wakeAt === undefined ? {} : { wakeAt: given.wakeAt }),
      ...(given.lastWake ? { lastWake: given.lastWake } : {}),
    },
  };
  const workload = { ...base.workload, spec: { replicas } } as Deployment;
  const one = { ...base, revision: own, origin: own, workload, ending: given.ending ?? 0, idle: given.idle };
  const { service, ...rest } = world(1, one, ...(given.others ?? []));
  const annotations = {
    ...(note ? { 'agentplane.dev/sleep': formatSleepNote(note) } : {}),
    ...(given.wake === undefined ? {} : { 'agentplane.dev/wake': given.wake }),
  };
  const deployment = {
    ...rest.deployment,
    spec: { suspend: given.suspend ?? false, idleSeconds: given.idleSeconds ?? 300 },
  } as RolloutWorld['deployment'];
  return {
    one,
    world: {
      ...rest,
      deployment,
      heldBy: (given.isHeld ?? true) ? 'proxy' : undefined,
      service: service && { ...service, metadata: { ...service.metadata, annotations } },
    },
  };
}

function decided(given: Scene): Sleep {
  const { world: seen, one } = scene(given);
  return decideSleep(seen, one, NOW);
}

const since = SECONDS(10);
const note: SleepNote = { since };

describe('decideSleep', () => {
  it.each<[string, Scene, Sleep['kind']]>([
    ['leaves a deployment alone that may not sleep', { minScale: 1, idle: IDLE }, 'awake'],
    ['leaves a deployment alone whose requests nothing would hold', { idle: IDLE, isHeld: false }, 'awake'],
    ['has a suspended one refuse requests', { suspend: true, idle: IDLE, minScale: 1 }, 'suspended'],
    [
      'leaves a suspended one alone that nothing holds',
      { suspend: true, isHeld: false, minScale: 1 },
      'awake',
    ],
    [
      'holds requests to one that is resumed',
      { replicas: 0, minScale: 1, note: { since: inSeconds(-9), suspended: true } },
      'waking',
    ],
    [
      'lets requests pass to one that was resumed and is ready',
      { minScale: 1, note: { since: inSeconds(-9), suspended: true, wakingSince: inSeconds(-2) } },
      'awake',
    ],
    ['stays awake until it was idle for long enough', { idle: { ...IDLE, idleMs: 299_000 } }, 'awake'],
    ['stays awake while it has something to do', { idle: { ...IDLE, isBusy: true } }, 'awake'],
    ['stays awake when its pod gives no answer', {}, 'awake'],
    ['stays awake while pods of it are ending', { idle: IDLE, ending: 1 }, 'awake'],
    ['dozes once it was idle for the time', { idle: IDLE }, 'dozing'],
    ['dozes for a second', { note: { since: SECONDS(0.5) } }, 'dozing'],
    ['falls asleep when the server agrees', { note, idle: CLOSED }, 'asleep'],
    ['wakes when the server does not agree', { note, idle: { ...CLOSED, isClosed: false } }, 'awake'],
    ['wakes when the server gives no answer', { note }, 'awake'],
    ['wakes when a request came while it dozed', { note, wake: since, idle: CLOSED }, 'awake'],
    ['wakes when its pod is lost while it dozes', { note, isReady: false }, 'awake'],
    ['wakes when its clock was set back', { note: { since: inSeconds(100) }, idle: CLOSED }, 'awake'],
    ['sleeps on', { replicas: 0, note, asleepSince: since }, 'asleep'],
    [
      'sleeps until its work is due',
      { replicas: 0, note, asleepSince: since, wakeAt: inSeconds(3) },
      'asleep',
    ],
    ['wakes shortly before', { replicas: 0, note, asleepSince: since, wakeAt: inSeconds(1.5) }, 'waking'],
    ['wakes for a request', { replicas: 0, note, asleepSince: since, wake: since }, 'waking'],
    [
      'ignores a request that an earlier sleep was ended for',
      { replicas: 0, note, asleepSince: since, wake: SECONDS(1000) },
      'asleep',
    ],
    ['wakes when nothing says when it must', { replicas: 0, note }, 'awake'],
    ['wakes when its note was removed', { replicas: 0, asleepSince: since }, 'awake'],
    [
      'goes on waking when its start was begun',
      { isReady: false, note: { since, wakingSince: SECONDS(1) }, asleepSince: since },
      'waking',
    ],
    ['is awake once its pods are ready', { note: { since, wakingSince: SECONDS(1) } }, 'awake'],
    ['is awake with ready pods that were begun for a request', { note, wake: since }, 'awake'],
  ])('%s', (_what, given, kind) => {
    expect(decided(given).kind).toBe(kind);
  });

  it('stays awake while another revision has pods', () => {
    const newer = revision({ number: 2, ready: true });
    const pods = [{ metadata: { name: 'x' }, spec: { containers: [] } } as unknown as Pod];
    expect(decided({ idle: IDLE, others: [{ ...newer, pods }] }).kind).toBe('awake');
  });

  it('records the time of its next work by the clock of the listener', () => {
    expect(decided({ note, idle: { ...CLOSED, workInMs: 90_000 } })).toMatchObject({
      kind: 'asleep',
      since,
      wakeAt: inSeconds(90),
    });
  });

  it('looks again when the time may be over', () => {
    expect(decided({ idle: { ...IDLE, idleMs: 299_000 } })).toEqual({ kind: 'awake', lookMs: 1_000 });
    const asleep = { replicas: 0, note, asleepSince: since, wakeAt: inSeconds(100) } as const;
    expect(decided(asleep)).toMatchObject({ lookMs: 98_000 / 1.1 });
    expect(decided({ replicas: 0, note, asleepSince: since })).toMatchObject({ lookMs: undefined });
  });

  it('has the trouble of a start in its note, and that it takes too long', () => {
    const waking = { isReady: false, note: { since, wakingSince: SECONDS(1) } };
    expect(decided(waking)).toMatchObject({ note: { since, wakingSince: SECONDS(1) } });
    expect(decided({ ...waking, exitCode: 78 })).toMatchObject({
      note: { problem: 'a graph failed to load' },
    });
    expect(decided({ ...waking, note: { since, wakingSince: SECONDS(61) } })).toMatchObject({
      note: { problem: expect.stringMatching(/^no pod was ready within 60 s/) as string },
    });
  });

  it('keeps the cause of a start while it is on record', () => {
    const started = { isReady: false, note: { since, wakingSince: SECONDS(1) } };
    expect(decided({ ...started, wake: since })).toMatchObject({ cause: 'a request came' });
    expect(decided({ ...started, replicas: 0, wake: since })).toMatchObject({ cause: 'a request came' });
    expect(decided(started)).toMatchObject({ cause: 'it was begun' });
  });

  it('says when a wake began and what it took, once', () => {
    const awake = { note: { since, wakingSince: SECONDS(1.5) } };
    const wake = { at: SECONDS(1.5), seconds: 1.5 };
    expect(decided(awake)).toEqual({ kind: 'awake', woke: wake });
    expect(decided({ ...awake, lastWake: wake })).toEqual({ kind: 'awake' });
    expect(decided({ note, wake: since, idle: CLOSED })).toEqual({ kind: 'awake' });
  });
});

describe('unreportedMs', () => {
  const waking = { isReady: false, asleepSince: since, note: { since, wakingSince: SECONDS(0.1) } };
  it.each<[string, Scene, number]>([
    ['a wake that began a moment before', waking, 200],
    ['a wake that takes long', { ...waking, note: { since, wakingSince: SECONDS(0.3) } }, 0],
    ['a wake that was reported', { ...waking, asleepSince: undefined }, 0],
    ['a wake of a later sleep than the one on record', { ...waking, asleepSince: SECONDS(99) }, 0],
    ['a wake in trouble', { ...waking, exitCode: 78 }, 0],
    ['a clock that was set back', { ...waking, note: { since, wakingSince: inSeconds(9) } }, 0],
    ['a deployment that is awake', {}, 0],
  ])('answers how long the report of %s waits', (_what, given, ms) => {
    const { world: seen, one } = scene(given);
    expect(unreportedMs(decideSleep(seen, one, NOW), one, NOW)).toBe(ms);
  });
});

describe('idleQuestion', () => {
  const asked = (given: Scene) => {
    const { world: seen, one } = scene(given);
    return idleQuestion(seen, one, NOW);
  };

  it('asks a server that is awake, has it close once it dozed, and asks no other', () => {
    expect(asked({})).toBe('ask');
    expect(asked({ note })).toBe('close');
    const silent: Scene[] = [
      { note: { since: SECONDS(0.5) } },
      { note, wake: since },
      { note: { since, wakingSince: since } },
      { replicas: 0, note },
      { isReady: false },
      { minScale: 1 },
      { suspend: true },
      { ending: 1 },
    ];
    expect(silent.map(asked)).toEqual(silent.map(() => undefined));
  });

  it('says of a deployment whose requests nothing would hold that it keeps its pods', () => {
    const { world: seen, one } = scene({ idle: IDLE, isHeld: false });
    const sleep = decideSleep(seen, one, NOW);
    if (sleep.kind === 'asleep' || sleep.kind === 'suspended') throw new Error('it sleeps');
    const { conditions } = summarizeRevision(
      { world: one, fate: { kind: 'serving', sleep } },
      undefined,
      NOW,
    );
    expect(findCondition(conditions, 'Ready')).toMatchObject({
      status: 'True',
      message: expect.stringMatching(/^serving; minScale 0 is taken as 1, since .* another cluster$/),
    });
    expect(decided({ minScale: 1, isHeld: false })).toEqual({ kind: 'awake' });
  });
});
