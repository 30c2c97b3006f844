import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, systemClock } from '#lib/time';

const FIRST_LOOK_MS = 10_000;
const LOOK_EVERY_MS = 20_000;
/**
 * Minimum allocation since the last collection; less is not worth the work. For a large heap, whose
 * collection takes longer, a quarter.
 */
const WORTH_BYTES = 4 * 2 ** 20;
const WORTH_SHARE = 0.25;
/**
 * Pause after a collection, in multiples of its duration: it blocks the program, and so takes a hundredth of
 * the time at most.
 */
const PAUSES_PER_COLLECTION = 100;
/** Share of one core below which a program is idle; a busy program collects by itself. */
const IDLE_SHARE = 0.15;
/**
 * Idle for so long, a program gives back what it has for its next work as well; the second time what it had kept for
 * some minutes after its work, as the API server keeps changes of objects.
 */
const DEEP_AFTER_MS = [60_000, 380_000];
/**
 * Maximum heap for a deep collection: the pause is some three times that of a full one, and would be noticed
 * with a larger heap.
 */
const DEEP_MAX_BYTES = 128 * 2 ** 20;

/** Measurements of the own process. */
export interface OwnProcess {
  /** CPU time so far, in milliseconds. */
  readonly cpuMs: () => number;
  readonly heapBytes: () => number;
  /** A full collection, which takes some 50 ms of a heap of 40 MB. */
  readonly collect: () => void;
  /** One that gives back empty pages and compiled code too: some 110 ms of the same heap. */
  readonly collectAll: () => void;
}

/**
 * Collects the garbage of a program that became idle. V8 collects while a program allocates: one that
 * stopped, e.g. an unused platform, keeps the garbage of its last work, and of its start, for as long as it
 * is idle. After an idle minute, and after some more, it gives back all that it can, and allocates it again with
 * its next work.
 */
export function collectWhenIdle(clock: Clock = systemClock, own: OwnProcess = ownProcess()): void {
  let aliveBytes = 0;
  let notBeforeMs = 0;
  let lastCpuMs = own.cpuMs();
  let lastMs = clock.monotonicMs();
  let idleSinceMs = lastMs;
  let gaveBack = 0;
  const look = (): void => {
    const [cpuMs, nowMs] = [own.cpuMs(), clock.monotonicMs()];
    const isIdle = cpuMs - lastCpuMs < (nowMs - lastMs) * IDLE_SHARE;
    if (!isIdle) [idleSinceMs, gaveBack] = [nowMs, 0];
    const worthBytes = Math.max(WORTH_BYTES, aliveBytes * WORTH_SHARE);
    const deepAfterMs = DEEP_AFTER_MS[gaveBack] ?? Infinity;
    const isDeep = nowMs - idleSinceMs >= deepAfterMs && own.heapBytes() < DEEP_MAX_BYTES;
    const isWorth = isDeep || own.heapBytes() - aliveBytes > worthBytes;
    if (isIdle && nowMs >= notBeforeMs && isWorth) {
      if (isDeep) own.collectAll();
      else own.collect();
      if (isDeep) gaveBack++;
      aliveBytes = own.heapBytes();
      const endMs = clock.monotonicMs();
      notBeforeMs = endMs + (endMs - nowMs) * PAUSES_PER_COLLECTION;
    }
    lastCpuMs = own.cpuMs();
    lastMs = clock.monotonicMs();
    clock.after(LOOK_EVERY_MS, look);
  };
  clock.after(FIRST_LOOK_MS, look);
}

/** This process. */
export function ownProcess(): OwnProcess {
  return {
    cpuMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    heapBytes: () => getHeapStatistics().used_heap_size,
    collect: collectGarbage,
    collectAll: () => collector()({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}

let made: NodeJS.GCFunction | undefined;

function collector(): NodeJS.GCFunction {
  if (!made) {
    // Node offers it to those alone who start it with this flag
    setFlagsFromString('--expose-gc');
    made = runInNewContext('gc') as NodeJS.GCFunction;
  }
  return made;
}

/** A full collection in this process. */
export function collectGarbage(): void {
  collector()();
}
