import { randomUUID } from 'node:crypto';
import type { Controller, ControllerOptions } from '#lib/reconcile';
import { keyText } from '#lib/resources';
import { describeSpan, metrics, withLogFields, withSpan } from '#lib/telemetry';
import type { Informers } from '../informer/informers.js';
import type { LeaderElector } from '../leader/leader-elector.js';

/** A listener has one controller for each namespace; labels name the kind of work, never whose it is. */
function labelOf(name: string): string {
  return name.split(' ', 1)[0] ?? name;
}

/** The controller with its passes counted, timed and traced; their log lines carry the key and an id of the pass. */
export function observed<O extends Omit<ControllerOptions, 'clock' | 'log'>>(spec: O): O {
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
export function readWork(parts: {
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
