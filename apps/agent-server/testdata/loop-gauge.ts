import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** What a program was like since it was last asked. */
export interface Gauge {
  /** The longest time of its main thread between two turns of timers: others had no turn meanwhile. Not of the clock. */
  readonly blockedMs: number;
  /** The most that it had in memory, beyond what it had when it was asked. */
  readonly grownBytes: number;
}

const PRELOAD = `
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
if (process.send) {
  const usedMs = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000; };
  let first = process.memoryUsage.rss(), most = first, blockedMs = 0, last = usedMs();
  setInterval(() => {
    const now = usedMs();
    blockedMs = Math.max(blockedMs, now - last);
    last = now;
    most = Math.max(most, process.memoryUsage.rss());
  }, 1).unref();
  const collect = () => {
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
  };
  process.on('message', (asked) => {
    if (asked === 'kept') {
      collect();
      process.send(process.memoryUsage().heapUsed);
    }
    if (asked !== 'gauge') return;
    process.send({ blockedMs, grownBytes: most - first });
    collect();
    setTimeout(() => {
      blockedMs = 0;
      last = usedMs();
      first = most = process.memoryUsage.rss();
      process.send('begun');
    }, 20);
  });
  process.channel.unref();
}`;

/** Environment of a program that can be asked by {@link gauge}; it needs an IPC channel. */
export const GAUGED = {
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(PRELOAD)}`,
} as const;

/** What a program was like since the last call, which begins anew. */
export async function gauge(child: ChildProcess): Promise<Gauge> {
  const answered = once(child, 'message');
  child.send('gauge');
  const [found] = (await answered) as [Gauge];
  await once(child, 'message');
  return found;
}

/** Bytes of the heap of a program, all of them in use. */
export async function keptBytes(child: ChildProcess): Promise<number> {
  const answered = once(child, 'message');
  child.send('kept');
  const [found] = (await answered) as [number];
  return found;
}
