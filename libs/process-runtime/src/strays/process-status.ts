import { readdirSync, readFileSync } from 'node:fs';

/** What `/proc/PID/status` shows of every process to everybody. */
export interface ProcessStatus {
  /** Real, effective, saved and of the file system. */
  readonly uids: readonly number[];
  readonly parent: number;
}

/** Undefined for a process that has ended. */
export function statusOf(pid: number): ProcessStatus | undefined {
  const text = textOf(`/proc/${pid}/status`);
  if (text === '') return undefined;
  const uids = /^Uid:\s+(.*)$/m.exec(text)?.[1]?.split(/\s+/).map(Number) ?? [];
  return { uids, parent: Number(/^PPid:\s+(\d+)$/m.exec(text)?.[1]) };
}

/** All of this machine, or of this container. */
export function processNumbers(): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Empty for a file of a process that has ended. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
