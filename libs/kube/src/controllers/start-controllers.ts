import type { Stoppable } from '#lib/lifecycle';
import { Controller, type ControllerOptions, type Log } from '#lib/reconcile';
import { systemClock, type Clock } from '#lib/time';
import { errorText } from '#lib/errors';
import type { Informers } from '../informer/informers.js';
import type { LeaderElector } from '../leader/leader-elector.js';
import { observed, readWork } from './observe-work.js';
import { type FailureReporting, FailureReports, type PassSubject } from './failure-reports.js';
import type { Source } from './source.js';

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
