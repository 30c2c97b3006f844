import type { Change } from '#lib/kube';
import type { Item } from '../world/items.js';

/** Progress of an object, as its status reports it. */
export interface Progress {
  readonly rows: number;
  readonly bytes: number;
  /** 0 to 100. */
  readonly percent: number;
}

interface Sample {
  readonly atMs: number;
  readonly rows: number;
  readonly percent: number;
}

interface Remembered {
  readonly samples: readonly Sample[];
  /** Rows per second between samples, oldest first. */
  readonly rates: readonly number[];
  readonly highest: number;
}

/** Points of the sparkline. */
const KEPT_RATES = 30;
/** Samples that rate and time left are taken from. */
const KEPT_SAMPLES = 12;
/** Time without news after which nothing counts as running at the last rate. */
const STALE_MS = 15_000;

/**
 * Growth of exports: rates, time left, and the highest percentage. Takes changes as they come, one sample for
 * each that moved something, and forgets deleted ones.
 */
export class ProgressMemory {
  readonly #remembered = new Map<string, Remembered>();

  /** Exports that are remembered. */
  get size(): number {
    return this.#remembered.size;
  }

  /** @param progressOf undefined for objects without progress */
  record({ kind, object }: Change<Item>, progress: Progress | undefined, atMs: number): void {
    const key = keyOf(object);
    if (kind === 'deleted' || progress === undefined) {
      this.#remembered.delete(key);
      return;
    }
    const { rows, percent } = progress;
    const known = this.#remembered.get(key);
    const last = known?.samples.at(-1);
    if (known && last && rows <= last.rows && percent <= last.percent) return;
    const rate =
      last && atMs > last.atMs ? [Math.max(0, (rows - last.rows) / ((atMs - last.atMs) / 1000))] : [];
    this.#remembered.set(key, {
      samples: [...(known?.samples ?? []), { atMs, rows, percent }].slice(-KEPT_SAMPLES),
      rates: [...(known?.rates ?? []), ...rate].slice(-KEPT_RATES),
      highest: Math.max(known?.highest ?? 0, percent),
    });
  }

  /** The highest percentage that was seen: an attempt that begins again does not undo what was shown. */
  percentOf(item: Item, percent: number): number {
    return Math.max(percent, this.#remembered.get(keyOf(item))?.highest ?? 0);
  }

  /** Rows per second, oldest first; the last is 0 once nothing has come for a while. */
  ratesOf(item: Item, nowMs: number): readonly number[] {
    const known = this.#remembered.get(keyOf(item));
    if (!known || known.rates.length === 0) return [];
    const isStale = nowMs - (known.samples.at(-1)?.atMs ?? 0) > STALE_MS;
    return isStale ? [...known.rates.slice(1 - KEPT_RATES), 0] : known.rates;
  }

  /** Milliseconds until 100 % at the pace of the last samples; undefined where nothing can be said. */
  timeLeftMs(item: Item, nowMs: number): number | undefined {
    const samples = this.#remembered.get(keyOf(item))?.samples ?? [];
    const [first] = samples;
    const last = samples.at(-1);
    if (!first || !last || last.percent >= 100 || nowMs - last.atMs > 4 * STALE_MS) return undefined;
    const pace = (last.percent - first.percent) / (last.atMs - first.atMs);
    return pace > 0 ? Math.max(0, (100 - last.percent) / pace - (nowMs - last.atMs)) : undefined;
  }
}

/** One that was deleted and made again under its name begins anew. */
function keyOf({ metadata }: Item): string {
  return metadata.uid ?? `${metadata.namespace ?? ''}/${metadata.name}`;
}
