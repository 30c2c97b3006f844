import { readMicros, readUuid } from '#lib/parquet';
import type { Tuple } from '#lib/postgres';
import type { Instant } from '#lib/time';
import type { ExportCursor } from './export-progress.js';

/** Remembers the first and the last row of a file. Copies 40 bytes a row; strings would be made for every row and read for two. */
export class RowBounds {
  readonly #timeField: number;
  readonly #idField: number;
  readonly #traceField: number;
  /** Start time, id and trace of the last row. */
  readonly #row = Buffer.alloc(40);
  #firstTime: Instant | undefined;

  /** @param fieldOf index in the tuples of the column for each part of the cursor */
  constructor(fieldOf: (role: keyof ExportCursor) => number) {
    this.#timeField = fieldOf('startTime');
    this.#idField = fieldOf('id');
    this.#traceField = fieldOf('traceId');
  }

  see({ bytes, offsets }: Tuple): void {
    const time = offsets[this.#timeField] ?? 0;
    const id = offsets[this.#idField] ?? 0;
    bytes.copy(this.#row, 0, time, time + 8);
    const trace = offsets[this.#traceField] ?? 0;
    bytes.copy(this.#row, 8, id, id + 16);
    bytes.copy(this.#row, 24, trace, trace + 16);
    this.#firstTime ??= readMicros(this.#row, 0);
  }

  /** Start time of the first row. */
  get firstTime(): Instant {
    if (this.#firstTime === undefined) throw new Error('no row has been seen');
    return this.#firstTime;
  }

  get last(): ExportCursor {
    return cursorOf(this.#row);
  }

  /** Start time, id and trace of the last row as Postgres sends them; the buffer is used again. */
  get lastBytes(): Buffer {
    return this.#row;
  }
}

/** The place that `RowBounds.lastBytes` had. */
export function cursorOf(bytes: Buffer): ExportCursor {
  return { startTime: readMicros(bytes, 0), id: readUuid(bytes, 8), traceId: readUuid(bytes, 24) };
}
