import { metrics } from '#lib/telemetry';
import { systemClock } from '#lib/time';

/** Sampling interval, long enough that a graph which computes runs in between. */
const SAMPLE_MS = 20;

/** Lets a scrape read how busy this thread is. Nothing is measured between scrapes. @returns ends the reading */
export function readEventLoop(): () => void {
  let before = performance.eventLoopUtilization();
  const ends = [
    metrics.eventLoopBusy.read(() => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    }),
    metrics.eventLoopLag.read(async () => {
      const startedMs = systemClock.monotonicMs();
      await systemClock.sleep(SAMPLE_MS);
      return Math.max(0, systemClock.monotonicMs() - startedMs - SAMPLE_MS) / 1000;
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
