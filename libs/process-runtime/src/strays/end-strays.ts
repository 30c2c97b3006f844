import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess, isRunning, type ProcessIdentity } from '#lib/process-identity';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { readJson } from '../pod-files/pod-files.js';
import { markedProcesses } from './marked-processes.js';
import { NODE_MARKER } from './process-marker.js';

/** Written right after a process was started. */
export interface ProcessRecord extends ProcessIdentity {
  readonly container: string;
  readonly restartCount: number;
}

/** They have seen their channel close already, so they only need to be waited for. */
const GRACE_MS = 2_000;

/**
 * Ends whatever an earlier node, killed without a chance to stop, left running: first what its records name, then (where
 * `/proc` can be read) everything that carries its marker, because a record may have come too late. Nothing may be
 * started before this is done: no second copy of a workload ever runs.
 */
export async function endStrays(podsFolder: string, clock: Clock, log: Logger): Promise<void> {
  const recorded = recordedProcesses(podsFolder).filter(isRunning);
  if (recorded.length > 0)
    log.warn({ pids: recorded.map(({ pid }) => pid) }, 'ending processes that outlived an earlier node');
  await Promise.all(
    recorded.map((identity) => endProcess(identity, { clock, graceMs: GRACE_MS, group: true })),
  );
  const onStuck = (pid: number): void =>
    log.warn(
      { pid },
      'reading the variables of a process failed: it holds the lock of its memory; look what it is',
    );
  const marked = await markedProcesses(NODE_MARKER, podsFolder, { clock, onStuck });
  if (marked.length > 0)
    log.warn({ pids: marked.map(({ pid }) => pid) }, 'ending unrecorded processes of an earlier node');
  await Promise.all(marked.map((identity) => endProcess(identity, { clock, graceMs: 0 })));
}

function recordedProcesses(podsFolder: string): ProcessRecord[] {
  if (!existsSync(podsFolder)) return [];
  // a file in this folder belongs to no pod
  const pods = readdirSync(podsFolder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return pods.flatMap(({ name: uid }) => {
    const folder = join(podsFolder, uid);
    return readdirSync(folder)
      .filter((name) => name.endsWith('.process.json'))
      .flatMap((name) => readJson<ProcessRecord>(join(folder, name)) ?? []);
  });
}
