import { readMicros, readUuid } from '#lib/parquet';
import type { Tuple } from '#lib/postgres';
import type { Instant } from '#lib/time';
import type { ExportCursor } from '#lib/trace-store';

/** Remembers the first and the last row of a file. Copies 40 bytes a row; strings would be made for every row and read for two. */
export class RowBounds {
  readonly #timeField: number;
  readonly #idField: number;
  readonly #traceField: number;
  /** Start time, id and trace of the last row. */
  readonly #row = Buffer.alloc(40);
  #firstTime: Instant | undefined;

  /**
   *
   * @param fieldOf index in the tuples of the column for each part of the cursor
   */
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
    return {
      startTime: readMicros(this.#row, 0),
      id: readUuid(this.#row, 8),
      traceId: readUuid(this.#row, 24),
    };
  }
}
