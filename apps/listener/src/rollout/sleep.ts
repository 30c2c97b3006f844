import type { IdleAnswer } from '#lib/lifecycle';
import { maySleep } from '#lib/manifests';
import { type AgentRevisionStatus, isWakeAsked, type SleepNote, sleepNoteOf } from '#lib/resources';
import { findProgress, findTrouble } from './failure.js';
import { servedBy } from './observe.js';
import { isWorkloadReady } from './ready-spans.js';
import type { RevisionWorld, RolloutWorld } from './world.js';

/** `idleSeconds` when unset. */
const IDLE_SECONDS = 300;
/**
 * Time after its Service began to hold requests in which every node learns it, so that the pods have received
 * all earlier requests.
 */
const DOZE_MS = { proxy: 1_000, activator: 3_000 } as const;
/** A start takes about that long: what is due is done in time. */
const AHEAD_MS = 2_000;
/** Pods that are not ready by then, and say nothing, are in trouble. */
const START_MS = 60_000;
/** The loop that looks again adds up to a tenth of the time: of hours that would be minutes. */
const JITTER = 1.1;
/** Interval of looks at a deployment that has work. */
const BUSY_LOOK_MS = 30_000;
/** Interval of looks at a deployment whose server gives no answer. */
const SILENT_LOOK_MS = 10_000;

/**
 * State of the revision that serves: its pods, and how requests reach them:
 *
 * - **awake**: its pods are as many as they should be, and the Service leads to them
 * - **dozing**: the same pods, and the Service holds requests, until the server has agreed to be stopped
 * - **asleep**: no pods; the Service holds requests
 * - **waking**: its pods are being started; the Service holds requests until they are ready
 * - **suspended**: no pods until the deployment is resumed; the Service refuses requests, and holds them from
 * then on
 *
 * The note on the Service, the status of the revision and the replicas of its Deployment together give the
 * state. Any two that do not fit together are a program that ended in between, and mean that it is awake or
 * becomes so.
 */
export type Sleep =
  | {
      readonly kind: 'awake';
      readonly lookMs?: number | undefined;
      /** Reason why it never sleeps, though it is asked to: a sentence without its full stop. */
      readonly because?: string;
      /** The wake that ends with this pass. */
      readonly woke?: LastWake;
    }
  | { readonly kind: 'dozing'; readonly note: SleepNote; readonly lookMs: number }
  | {
      readonly kind: 'asleep';
      readonly note: SleepNote;
      readonly since: string;
      readonly wakeAt: string | undefined;
      readonly lookMs: number | undefined;
    }
  | { readonly kind: 'suspended'; readonly note: SleepNote; readonly lookMs?: undefined }
  | { readonly kind: 'waking'; readonly note: SleepNote; readonly cause: string; readonly lookMs: number };

const AWAKE: Sleep = { kind: 'awake' };
/** Sleep in another cluster: requests to its Services cannot be held. */
const UNHELD: Sleep = {
  kind: 'awake',
  because: 'minScale 0 is taken as 1, since nothing holds requests to a deployment in another cluster',
};

export type LastWake = NonNullable<AgentRevisionStatus['lastWake']>;

/** Question to the pods of a revision in this pass. */
export type IdleQuestion = 'ask' | 'close';

/** The note of this revision's own sleep: one that serves instead of it has not slept yet. */
function noteOf({ service }: RolloutWorld, { revision }: RevisionWorld): SleepNote | undefined {
  const isServed = servedBy(service)?.revision === revision.metadata.name;
  return service && isServed ? sleepNoteOf(service) : undefined;
}

function maySleepNow({ deployment, heldBy }: RolloutWorld, { origin }: RevisionWorld): boolean {
  return heldBy !== undefined && maySleep(origin) && deployment.spec.suspend !== true;
}

function dozeMs({ heldBy = 'activator' }: RolloutWorld): number {
  return DOZE_MS[heldBy];
}

function hasPods({ workload }: RevisionWorld): boolean {
  return workload?.spec.replicas !== 0;
}

/** Other pods of the deployment work on the same runs, those that are ending included: they may hand runs back. */
function isAlone({ revisions, elsewhere }: RolloutWorld, world: RevisionWorld): boolean {
  return (
    (world.ending ?? 0) === 0 &&
    elsewhere.every(({ status }) => (status?.replicas ?? 0) === 0) &&
    revisions.every(
      (one) =>
        one === world || ((one.pods.length === 0 || one.origin === world.origin) && (one.ending ?? 0) === 0),
    )
  );
}

/** Reason why the deployment has to wake up, if anything says so. */
function wakeCause(world: RolloutWorld, one: RevisionWorld, note: SleepNote, now: Date): string | undefined {
  if (world.service && isWakeAsked(world.service, note)) return 'a request came';
  const { wakeAt } = one.revision.status ?? {};
  const isDue = wakeAt !== undefined && Date.parse(wakeAt) - AHEAD_MS <= now.getTime();
  return isDue ? `work is due at ${wakeAt}` : undefined;
}

/** The cause of a start whose own cause is not on record any more. */
function begun({ wakingSince }: SleepNote): string | undefined {
  return wakingSince === undefined ? undefined : 'it was begun';
}

/** Question to the pods of the revision that serves; undefined: none. */
export function idleQuestion(world: RolloutWorld, one: RevisionWorld, now: Date): IdleQuestion | undefined {
  if (!maySleepNow(world, one)) return undefined;
  if (servedBy(world.service)?.revision !== one.revision.metadata.name) return undefined;
  if (!hasPods(one) || !isWorkloadReady(one) || !isAlone(world, one)) return undefined;
  const note = noteOf(world, one);
  if (!note) return 'ask';
  if (note.wakingSince !== undefined || wakeCause(world, one, note, now) !== undefined) return undefined;
  return now.getTime() - Date.parse(note.since) >= dozeMs(world) ? 'close' : undefined;
}

/**
 * Decides about the revision that serves.
 * @param one with the answer of its pod to `idleQuestion`
 */
export function decideSleep(world: RolloutWorld, one: RevisionWorld, now: Date): Sleep {
  const note = noteOf(world, one);
  if (world.heldBy && world.deployment.spec.suspend === true) return suspended(note, now);
  if (world.heldBy && note?.suspended === true)
    return hasPods(one) && isWorkloadReady(one) ? AWAKE : wakeUp(one, note, 'the deployment is resumed', now);
  if (!maySleepNow(world, one)) return world.heldBy || !maySleep(one.origin) ? AWAKE : UNHELD;
  if (!hasPods(one)) return note ? sleepOn(world, one, note, now) : AWAKE;
  if (!note) return fallAsleep(world, one, now);
  const cause = wakeCause(world, one, note, now) ?? begun(note);
  if (cause !== undefined)
    return isWorkloadReady(one) ? awakeAgain(one, note, now) : wakeUp(one, note, cause, now);
  return dozeOff(world, one, note, now);
}

function suspended(note: SleepNote | undefined, now: Date): Sleep {
  const since = note?.suspended === true && note.wakingSince === undefined ? note.since : now.toISOString();
  return { kind: 'suspended', note: { since, suspended: true } };
}

/** No pods until a request or due work wants it. */
function sleepOn(world: RolloutWorld, one: RevisionWorld, note: SleepNote, now: Date): Sleep {
  const { asleepSince, wakeAt } = one.revision.status ?? {};
  const cause = wakeCause(world, one, note, now) ?? begun(note);
  if (cause !== undefined) return wakeUp(one, note, cause, now);
  // when it must wake is not on record
  if (asleepSince !== note.since) return AWAKE;
  const leftMs = wakeAt === undefined ? undefined : Date.parse(wakeAt) - AHEAD_MS - now.getTime();
  // several looks, each nearer, instead of one that is late
  const lookMs = leftMs === undefined ? undefined : leftMs / JITTER;
  return { kind: 'asleep', note, since: note.since, wakeAt, lookMs };
}

function wakeUp(one: RevisionWorld, note: SleepNote, cause: string, now: Date): Sleep {
  const wakingSince = note.wakingSince ?? now.toISOString();
  const leftMs = Date.parse(wakingSince) + START_MS - now.getTime();
  const problem = hasPods(one) ? problemOf(one, leftMs) : undefined;
  return {
    kind: 'waking',
    note: {
      since: note.since,
      ...(note.suspended === true ? { suspended: true } : {}),
      wakingSince,
      ...(problem === undefined ? {} : { problem }),
    },
    cause,
    lookMs: leftMs > 0 ? leftMs + 100 : BUSY_LOOK_MS,
  };
}

/** The Service may still have the note in the next pass, which is no other wake. */
function awakeAgain({ revision }: RevisionWorld, { wakingSince: at }: SleepNote, now: Date): Sleep {
  if (at === undefined || revision.status?.lastWake?.at === at) return AWAKE;
  return { kind: 'awake', woke: { at, seconds: Math.max(0, now.getTime() - Date.parse(at)) / 1000 } };
}

/**
 * Most wakes end within this, so that their end is the only report: each is written while the one thread of the API server
 * is needed for the start.
 */
const REPORT_MS = 300;

/** Milliseconds for which the start of a wake is not reported; none for one in trouble, or one that was reported. */
export function unreportedMs(
  sleep: Sleep | undefined,
  { revision: { status } }: Pick<RevisionWorld, 'revision'>,
  now: Date,
): number {
  if (sleep?.kind !== 'waking') return 0;
  const { since, wakingSince = '', problem } = sleep.note;
  if (problem !== undefined || status?.asleepSince !== since) return 0;
  const ageMs = now.getTime() - Date.parse(wakingSince);
  return ageMs >= 0 && ageMs < REPORT_MS ? REPORT_MS - ageMs : 0;
}

function problemOf(one: RevisionWorld, leftMs: number): string | undefined {
  const trouble = findTrouble(one)?.message;
  if (trouble !== undefined || leftMs > 0) return trouble;
  const progress = findProgress(one);
  return `no pod was ready within ${START_MS / 1000} s${progress === undefined ? '' : `; ${progress}`}`;
}

function fallAsleep(world: RolloutWorld, one: RevisionWorld, now: Date): Sleep {
  // a change of its pods brings it here again
  if (!isWorkloadReady(one)) return AWAKE;
  if (!isAlone(world, one) || !one.idle) return { kind: 'awake', lookMs: SILENT_LOOK_MS };
  const idleMs = (world.deployment.spec.idleSeconds ?? IDLE_SECONDS) * 1000;
  if (one.idle.isBusy) return { kind: 'awake', lookMs: Math.min(idleMs, BUSY_LOOK_MS) };
  const leftMs = idleMs - one.idle.idleMs;
  if (leftMs > 0) return { kind: 'awake', lookMs: Math.max(100, leftMs) };
  return { kind: 'dozing', note: { since: now.toISOString() }, lookMs: dozeMs(world) };
}

function dozeOff(world: RolloutWorld, one: RevisionWorld, note: SleepNote, now: Date): Sleep {
  const dozedMs = now.getTime() - Date.parse(note.since);
  // the clock was set back
  if (dozedMs < 0 || !isWorkloadReady(one) || !isAlone(world, one)) return AWAKE;
  const leftMs = dozeMs(world) - dozedMs;
  if (leftMs > 0) return { kind: 'dozing', note, lookMs: leftMs };
  const { idle } = one;
  if (!idle?.isClosed || idle.isBusy) return AWAKE;
  const wakeAt = wakeTime(idle, now);
  return { kind: 'asleep', note, since: note.since, wakeAt, lookMs: undefined };
}

function wakeTime({ workInMs }: IdleAnswer, now: Date): string | undefined {
  return workInMs === undefined ? undefined : new Date(now.getTime() + workInMs).toISOString();
}

/** The sentence that REST, `kubectl` and the command line show of a revision that sleeps or wakes up. */
export function sleepText(
  sleep: Exclude<Sleep, { readonly kind: 'awake' | 'dozing' | 'suspended' }>,
): string {
  switch (sleep.kind) {
    case 'asleep':
      return sleep.wakeAt === undefined
        ? `asleep since ${sleep.since}; the next request starts it`
        : `asleep since ${sleep.since}; the next request starts it, or what is due at ${sleep.wakeAt}`;
    case 'waking':
      return sleep.note.suspended === true
        ? `suspended until ${sleep.note.wakingSince ?? sleep.note.since}; starting`
        : `asleep since ${sleep.note.since}; starting, since ${sleep.cause}`;
    default:
      return sleep satisfies never;
  }
}
