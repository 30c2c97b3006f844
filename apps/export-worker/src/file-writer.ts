import type { Tuple } from '#lib/postgres';

/** Writes one file of an export from tuples of Postgres, in whatever form the file has. */
export interface FileWriter {
  /** Rows added so far. */
  readonly rows: number;
  /** Bytes that the sink has taken. */
  readonly bytes: number;
  /** True when `ready` must be awaited before the next row: until then the tuple's bytes must not change. */
  readonly isBusy: boolean;
  add(row: Tuple): void;
  ready(): Promise<void>;
  /** Finishes the file. The writer is of no use afterwards. */
  end(): Promise<void>;
  /** Frees what a file that is not finished holds outside of the heap. */
  close(): void;
}

/** Takes a file's bytes in order; the buffer is used again once this resolves. */
export type FileSink = (bytes: Buffer) => Promise<void>;
