import type { Snapshot } from '../feed/snapshot.js';
import { exportKey } from './export-key.js';
import type { RateHistory } from './export-rows.js';

const KEPT = 30;

interface Sample {
  readonly atMs: number;
  readonly rows: number;
}

/** Remembers how the rows of each export grew. Give it every snapshot with its time. */
export class RateRecorder implements RateHistory {
  readonly #last = new Map<string, Sample>();
  readonly #rates = new Map<string, readonly number[]>();

  record(snapshot: Snapshot, atMs: number): void {
    for (const { metadata, status } of snapshot.exports) {
      const key = exportKey(metadata);
      const rows = status?.rows ?? 0;
      const last = this.#last.get(key);
      if (last && rows <= last.rows && atMs - last.atMs < 5000) continue;
      this.#last.set(key, { atMs, rows });
      if (!last || atMs <= last.atMs) continue;
      const rate = Math.max(0, (rows - last.rows) / ((atMs - last.atMs) / 1000));
      this.#rates.set(key, [...this.ratesOf(key), rate].slice(-KEPT));
    }
  }

  ratesOf(key: string): readonly number[] {
    return this.#rates.get(key) ?? [];
  }
}
