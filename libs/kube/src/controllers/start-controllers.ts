import { randomUUID } from 'node:crypto';
import { errorText } from '#lib/errors';
import type { Stoppable } from '#lib/lifecycle';
import { Controller, type ControllerOptions, type Log } from '#lib/reconcile';
import {
  apiVersionOf,
  keyOf,
  keyText,
  type KubeObject,
  type ObjectKey,
  type OwnerReference,
  type ResourceRef,
} from '#lib/resources';
import { describeSpan, metrics, withLogFields, withSpan } from '#lib/telemetry';
import { type Clock, systemClock } from '#lib/time';
import type { Informer } from '../informer/informer.js';
import type { Informers } from '../informer/informers.js';
import type { Change } from '../informer/store.js';
import type { LeaderElector } from '../leader/leader-elector.js';
import { type FailureReporting, FailureReports, type PassSubject } from './failure-reports.js';

/** A listener has one controller for each namespace; labels name the kind of work, never whose it is. */
function labelOf(name: string): string {
  return name.split(' ', 1)[0] ?? name;
}

/** The controller with its passes counted, timed and traced; their log lines carry the key and an id of the pass. */
function observed<O extends Omit<ControllerOptions, 'clock' | 'log'>>(spec: O): O {
  const controller = labelOf(spec.name);
  return {
    ...spec,
    around: (key, pass) => {
      const text = keyText(key);
      const reconcileId = randomUUID();
      return withLogFields({ controller: spec.name, key: text, reconcileId }, () =>
        withSpan(`reconcile ${controller}`, { controller, key: text, 'reconcile.id': reconcileId }, pass),
      );
    },
    onPass: (report) => {
      const { outcome, durationMs } = report;
      describeSpan({ 'reconcile.outcome': outcome });
      metrics.reconcilePasses.add(1, { controller, outcome });
      if (outcome === 'retry' || outcome === 'terminal') metrics.reconcileErrors.add(1, { controller });
      metrics.reconcileDuration.observe(durationMs / 1000, { controller });
      spec.onPass?.(report);
    },
  };
}

/** Observes facts that can only be polled: queues, watches and leadership. @returns ends the polling */
function readWork(parts: {
  readonly controllers: readonly Controller[];
  readonly informers: Pick<Informers, 'silentForMs'>;
  readonly leader: LeaderElector | undefined;
}): () => void {
  const { controllers, informers, leader } = parts;
  const ends = [
    metrics.reconcileQueueDepth.read(() =>
      controllers.map(({ name, depth }) => [{ controller: labelOf(name) }, depth] as const),
    ),
    metrics.reconcileQueueAge.read(() =>
      controllers.map(({ name, oldestMs }) => [{ controller: labelOf(name) }, oldestMs / 1000] as const),
    ),
    metrics.watchSilence.read(() => informers.silentForMs / 1000),
    ...(leader ? [metrics.leader.read(() => (leader.isLeader ? 1 : 0))] : []),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** Source of a controller's keys: feeds keys whenever something changes, and all of them at the start. */
export interface Source {
  /** Begins to feed; the result ends it. */
  feed(enqueue: (key: ObjectKey) => void): () => void;
}

/** The keys of the objects themselves. `when` may leave changes out, for instance those of a status alone. */
export function fromObjects<T extends KubeObject>(
  informer: Informer<T>,
  when: (change: Change<T>) => boolean = () => true,
): Source {
  return {
    feed: (enqueue) =>
      informer.on((change) => {
        if (when(change)) enqueue(keyOf(change.object));
      }),
  };
}

/**
 * The keys of the objects' owners of one kind, the former owners of a changed object included. `when` may leave changes
 * out.
 */
export function fromOwned<T extends KubeObject>(
  informer: Informer<T>,
  owner: ResourceRef,
  when?: (change: Change<T>) => boolean,
): Source {
  return fromMapped(
    informer,
    (object) =>
      (object.metadata.ownerReferences ?? [])
        .filter((reference) => isOfKind(reference, owner))
        .map(({ name }) => keyOfOwner(owner, name, object)),
    when,
  );
}

/** Any keys that a changed object concerns, before and after its change. `when` may leave changes out. */
export function fromMapped<T extends KubeObject>(
  informer: Informer<T>,
  keys: (object: T) => readonly ObjectKey[],
  when: (change: Change<T>) => boolean = () => true,
): Source {
  return {
    feed: (enqueue) =>
      informer.on((change) => {
        if (!when(change)) return;
        const before = change.kind === 'changed' ? keys(change.before) : [];
        // each once: a pass that the first begins would be followed by another one for the second
        const all = new Map([...before, ...keys(change.object)].map((key) => [keyText(key), key]));
        for (const key of all.values()) enqueue(key);
      }),
  };
}

/**
 * Leaves out changes of the status alone: additions, deletions, new generations, labels, annotations, finalizers count.
 * Kinds without generations (ConfigMap, Secret) have no status either: every change of theirs counts.
 */
export function isDesiredChange<T extends KubeObject>(change: Change<T>): boolean {
  if (change.kind !== 'changed') return true;
  const [a, b] = [change.before.metadata, change.object.metadata];
  return (
    b.generation === undefined ||
    a.generation !== b.generation ||
    a.deletionTimestamp !== b.deletionTimestamp ||
    JSON.stringify([a.labels, a.annotations, a.finalizers]) !==
      JSON.stringify([b.labels, b.annotations, b.finalizers])
  );
}

function keyOfOwner(owner: ResourceRef, name: string, child: KubeObject): ObjectKey {
  const { namespace } = child.metadata;
  return owner.namespaced && namespace !== undefined ? { namespace, name } : { name };
}

function isOfKind(reference: OwnerReference, ref: ResourceRef): boolean {
  return reference.kind === ref.kind && reference.apiVersion === apiVersionOf(ref);
}

/** A reconciler and where its keys come from. */
export interface ControllerSpec extends Omit<ControllerOptions, 'clock' | 'log' | 'reports'> {
  readonly sources: readonly Source[];
  /** Reports failed passes; without it they are in the log alone. */
  readonly subject?: PassSubject;
}

export interface StartControllersOptions {
  readonly informers: Pick<Informers, 'start' | 'synced' | 'stop' | 'silentForMs'>;
  readonly controllers: readonly ControllerSpec[];
  readonly log: Log;
  readonly clock?: Clock;
  /** The means by which failing passes are reported on the subjects of their controllers. */
  readonly reporting?: FailureReporting;
  /** Work begins when it leads; absent: at once. Stopped, and its lease given back, after the last worker. */
  readonly leader?: LeaderElector;
}

/** Running controllers. */
export interface RunningControllers extends Stoppable {
  /** Resolves when the workers run: at once without a leader, else when elected. Rejects when stopped before. */
  readonly working: Promise<void>;
}

/**
 * Starts in order: informers and their first lists, leadership, workers. Resolves when the lists are there; workers may
 * wait for leadership much longer. Stops in reverse: workers drain, the lease is given back, informers end.
 */
export async function startControllers(options: StartControllersOptions): Promise<RunningControllers> {
  const { informers, leader, log, reporting, clock = systemClock } = options;
  const controllers = options.controllers.map(({ subject, ...spec }) => {
    const reports = subject && reporting && new FailureReports(subject, reporting, clock, log);
    return new Controller({ ...observed(spec), ...(reports ? { reports } : {}), log, clock });
  });
  const endReadings = readWork({ controllers, informers, leader });
  const ends = options.controllers.flatMap((spec, at) =>
    spec.sources.map((source) => source.feed((key) => controllers[at]?.enqueue(key))),
  );
  informers.start();
  await informers.synced();

  leader?.start();
  const working = (leader?.acquired() ?? Promise.resolve()).then(() => {
    for (const controller of controllers) controller.start();
    log.info({ controllers: controllers.map(({ name }) => name) }, 'controllers work');
  });
  working.catch((error: unknown) => log.debug({ problem: errorText(error) }, 'never led'));

  return {
    name: 'controllers',
    working,
    async stop() {
      for (const end of [...ends, endReadings]) end();
      await Promise.all(controllers.map((controller) => controller.stop()));
      await leader?.stop();
      await informers.stop();
    },
  };
}
