import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';

const PRLIMIT = '/usr/bin/prlimit';
/** Number of descriptors, more than a process of tests has open. */
const FEW = 2_048;

/** Linux with the tools of util-linux. */
export const canUseUpDescriptors = process.platform === 'linux' && existsSync(PRLIMIT);

/** Takes one step of this process while it has no descriptor left, as when a pod has used up those of the machine. */
export function withoutDescriptors<T>(step: () => T): T {
  const before = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? '';
  const held: number[] = [];
  limit(String(FEW));
  try {
    while (tryOpen(held));
    return step();
  } finally {
    for (const descriptor of held) closeSync(descriptor);
    limit(before);
  }
}

function limit(most: string): void {
  execFileSync(PRLIMIT, ['--pid', String(process.pid), `--nofile=${most}:`]);
}

function tryOpen(held: number[]): boolean {
  try {
    return held.push(openSync('/dev/null', 'r')) > 0;
  } catch {
    return false;
  }
}
