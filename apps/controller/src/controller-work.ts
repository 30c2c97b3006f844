import {
  type ControllerSpec,
  type EventRecorder,
  type Informers,
  type KubeClient,
  type LeaderElector,
  startControllers,
} from '#lib/kube';
import type { ProgramContext } from '#lib/lifecycle';
import { awaitDatabase } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { Readiness } from './health/readiness.js';

/** Made by Nest, started and stopped by the work. */
export interface OwnedParts {
  readonly client: KubeClient;
  readonly traceStore: Pick<TraceStore, 'migrate' | 'close'>;
  readonly events: EventRecorder;
  readonly informers: Informers;
  readonly leader: LeaderElector;
}

export interface ControllerWorkParts {
  readonly owned: OwnedParts;
  readonly controllers: readonly ControllerSpec[];
  readonly readiness: Readiness;
  /** Requests of their own, which end with the work. */
  readonly leftUploads: { stop(): Promise<void> };
  readonly log: Logger;
  readonly clock: Clock;
}

/** The order in which everything starts and stops; Nest only makes the parts. */
export class ControllerWork {
  readonly #parts: ControllerWorkParts;

  constructor(parts: ControllerWorkParts) {
    this.#parts = parts;
  }

  /**
   * Starts in order: schema, caches, leadership, work; `context` stops them in reverse. Resolves when it
   * works.
   */
  async start(context: ProgramContext): Promise<void> {
    const { owned, controllers, readiness, leftUploads, log, clock } = this.#parts;
    const { client, traceStore, events, informers, leader } = owned;
    context.signal.addEventListener('abort', () => readiness.enter('stopping'));
    context.own({ name: 'kubernetes client', stop: () => client.close() });
    context.own({ name: 'trace store', stop: () => traceStore.close() });
    await awaitDatabase({ log, clock }, () => traceStore.migrate());

    context.own({ name: 'events', stop: () => events.flush() });
    readiness.enter('caches');
    const running = context.own(
      await startControllers({ informers, controllers, log, clock, leader, reporting: { client, events } }),
    );
    readiness.enter('leadership');
    await running.working;
    context.own({ name: 'left uploads', stop: () => leftUploads.stop() });
    readiness.enter('working');
  }
}
