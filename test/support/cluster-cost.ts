import { systemClock } from '#lib/time';
import type { Kubectl } from './kubectl.js';
import { megabytesOf } from './process-cost.js';
import { listProcesses } from './process-tree.js';

/** Requests that an API server has answered a second, of everybody. */
export async function requestsPerSecond(kubectl: Kubectl, seconds: number): Promise<number> {
  const before = await answered(kubectl);
  await systemClock.sleep(seconds * 1000);
  return ((await answered(kubectl)) - before) / seconds;
}

async function answered(kubectl: Kubectl): Promise<number> {
  const lines = (await kubectl.run(['get', '--raw', '/metrics'])).split('\n');
  return lines
    .filter((line) => line.startsWith('apiserver_request_total{'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

/** Proportional set size in megabytes of each pod of a program, as images start it. */
export function podMegabytes(program: string): readonly number[] {
  return listProcesses()
    .filter(({ command }) => command.trim() === `node dist/apps/${program}/src/main.js`)
    .map(({ pid }) => megabytesOf(pid));
}
