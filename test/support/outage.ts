import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { type ClusterBench, type Database, SYSTEM } from './cluster-bench.js';
import type { DaysProject } from './days-project.js';
import type { Rest } from './rest.js';
import type { LoadReport, SteadyLoad } from './steady-load.js';

/** Before a fault, and after everything is good again: callers ask in all these moments. */
const UNDISTURBED_MS = 5_000;
const READY_MS = 300_000;

/** What an outage needs of a platform. */
export interface OutageTarget {
  readonly bench: ClusterBench;
  readonly rest: Rest;
  readonly database: Database;
  readonly days: DaysProject;
  /** Namespace of the workspace. */
  readonly namespace: string;
}

/** How an outage went. */
export interface Outage extends LoadReport {
  /** How long the fault itself took. */
  readonly faultMs: number;
  /** From the end of the fault until everything was ready and callers were served. */
  readonly readyMs: number;
  /** From the start of the fault to the start of the last request that failed; 0 where none did. */
  readonly refusedMs: number;
  /** Requests that failed although they began after that. */
  readonly late: readonly unknown[];
}

/**
 * Performs a fault while callers ask and an export is at work, waits until everything is ready again, and fails unless
 * every acknowledged trace is stored once, every acknowledged run is done once, and the export is exact.
 * @param strike begins the fault and ends it
 */
export async function suffer(
  target: OutageTarget,
  name: string,
  strike: () => Promise<void>,
): Promise<Outage> {
  const { bench, rest, days, database } = target;
  const load = await bench.startLoad(rest, 'my-agent');
  let faultMs: number, readyMs: number, exportId: string, beganAt: number, readyAt: number;
  let report: LoadReport;
  try {
    exportId = await days.beginExport();
    await systemClock.sleep(UNDISTURBED_MS);
    beganAt = Date.now();
    await strike();
    const endedAt = Date.now();
    faultMs = endedAt - beganAt;
    await awaitReady(target, load);
    readyAt = Date.now();
    readyMs = readyAt - endedAt;
    await systemClock.sleep(UNDISTURBED_MS);
  } finally {
    report = await load.stop();
  }
  const began = report.failures.map((failure) => Date.parse(failure.beganAt));
  const refusedMs = Math.max(0, ...began.map((at) => at - beganAt));
  const late = report.failures.filter((failure) => Date.parse(failure.beganAt) > readyAt);
  const outage = { ...report, faultMs, readyMs, refusedMs, late };
  process.stderr.write(describe(name, outage));
  await bench.expectKept(database, report);
  const exported = await days.readExport(exportId, bench.objectStore);
  if (JSON.stringify(exported) !== JSON.stringify(days.runs))
    throw new Error(`the export has ${exported.length} rows for ${days.runs.length}`);
  return outage;
}

/**
 * Waits until every pod is as its Deployment wants it, all kinds of the platform say that they are ready, and callers have been
 * served for a while: a node that has just booted still has the status from before, and a connection that leads nowhere is
 * found by the next statement on it.
 */
async function awaitReady({ bench: { kubectl }, namespace }: OutageTarget, load: SteadyLoad): Promise<void> {
  const began = performance.now();
  await waitFor(
    async () => {
      for (const place of [SYSTEM, namespace]) {
        const words = ['-n', place, 'rollout', 'status', 'deployment', '--timeout=1s'];
        await kubectl.run(words);
      }
      const kinds = ['-n', namespace, 'wait', '--for=condition=Ready', '--timeout=1s', '--all'];
      for (const kind of ['adep', 'workspaces', 'listeners']) await kubectl.run([...kinds, kind]);
      return load.servedMs(began) > UNDISTURBED_MS;
    },
    { what: 'everything to be ready', timeoutMs: READY_MS, intervalMs: 500 },
  );
}

function describe(name: string, { asked, failures, slowestMs, ...times }: Outage): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const refused = Object.keys(asked).map((what) => {
    const count = failures.filter((failure) => failure.what === what).length;
    return `${what} ${count}/${asked[what]} (slowest ${seconds(slowestMs[what] ?? 0)})`;
  });
  const causes = new Map<string, number>();
  for (const { what, error } of failures) {
    const cause = `${what}: ${error.replaceAll(/[0-9a-f-]{36}/g, '…').slice(0, 200)}`;
    causes.set(cause, (causes.get(cause) ?? 0) + 1);
  }
  return [
    `| ${name} | fault ${seconds(times.faultMs)} | ready ${seconds(times.readyMs)} after it | refused ${failures.length}, the last ${seconds(times.refusedMs)} after it began | ${refused.join(', ')} |`,
    ...[...causes].map(([cause, count]) => `    ${count} × ${cause}`),
    '',
  ].join('\n');
}
