import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from './cluster-bench.js';

/** Sends a signal to all processes of a pod. */
export function signalPod(pod: Pod, name: NodeJS.Signals): void {
  signalAll(pidsOf(pod), name);
}

/** Kills the containers of a pod and leaves its sandbox: the kubelet starts them again in the same pod. */
export function killContainers(pod: Pod): void {
  signalAll(
    pidsOf(pod).filter((pid) => readProcess(pid, 'comm').trim() !== 'pause'),
    'SIGKILL',
  );
}

/** Processes of a pod on the node that this machine is. */
export function pidsOf({ metadata }: Pod): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readProcess(pid, 'cgroup').includes(metadata.uid));
}

function signalAll(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name);
    } catch {
      // it ended between the listing and now
    }
}

function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(join('/proc', String(pid), file), 'utf8');
  } catch {
    return ''; // it ended
  }
}
