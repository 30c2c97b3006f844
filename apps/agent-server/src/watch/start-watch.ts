import { Worker } from 'node:worker_threads';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';

/**
 * Starts the watch of this process, a thread beside code of others.
 * @param question expression that answers, as JSON, the functions that this process executes
 */
export function startWatch(question: string, log: Logger): void {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const watch = new Worker(new URL('main.js', import.meta.url), {
    workerData: { beats, server: process.ppid, question },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  watch.unref();
  watch.on('error', (error) => log.warn({ err: error }, 'watching this process failed'));
  const beat = (): void => {
    Atomics.add(beats, 0, 1);
    systemClock.after(500, beat);
  };
  beat();
}
