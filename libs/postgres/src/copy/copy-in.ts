import type pg from 'pg';
import { namedFailure } from '../named-failure.js';
import type { CopyBinaryWriter } from './copy-binary-writer.js';

/** Rows for a table. */
export interface CopyPart {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: CopyBinaryWriter;
}

/**
 * Sends rows into tables, one after another, in one round trip. Joins the transaction that is open on the connection;
 * without one all rows are stored or none.
 */
export function copyIn(connection: pg.ClientBase, parts: readonly CopyPart[]): Promise<void> {
  if (parts.length === 0) return Promise.resolve();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  connection.query(
    new CopiesIn(parts, (failure) => (failure === undefined ? resolve() : reject(failure as Error))),
  );
  return promise;
}

const QUERY = 0x51;
const COPY_DATA = 0x64;
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);
/** The server holds a message whole. */
const MESSAGE_BYTES = 262_144;

function head(kind: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(5);
  bytes[0] = kind;
  bytes.writeInt32BE(length + 4, 1);
  return bytes;
}

/**
 * One `Query` of a COPY for each table, with all rows behind it. The server reads the rows of a COPY when it comes to it,
 * and ignores those behind an error (Message Flow, COPY Operations), so that nothing needs to be waited for in between.
 */
class CopiesIn implements pg.Submittable {
  readonly text: string;

  constructor(
    private readonly parts: readonly CopyPart[],
    private readonly done: (failure?: unknown) => void,
  ) {
    this.text = parts
      .map(({ table, columns }) => `COPY ${table} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`)
      .join('; ');
  }

  submit({ stream }: pg.Connection): void {
    // an error that ends the connection ends this
    if (!stream.writable) return;
    stream.cork();
    const text = Buffer.from(`${this.text}\0`);
    stream.write(head(QUERY, text.length));
    stream.write(text);
    for (const { rows } of this.parts) {
      for (const message of messagesOf(rows.finish())) {
        stream.write(head(COPY_DATA, message.bytes));
        for (const chunk of message.chunks) stream.write(chunk);
      }
      stream.write(COPY_DONE);
    }
    stream.uncork();
  }

  handleCopyInResponse(): void {
    // the rows are on their way
  }

  handleCommandComplete(): void {
    // more may follow
  }

  handleError(error: Error): void {
    this.done(namedFailure(error));
  }

  handleReadyForQuery(): void {
    this.done();
  }
}

/** Chunks in messages that are neither tiny nor large. */
function messagesOf(
  chunks: readonly Buffer[],
): readonly { readonly chunks: readonly Buffer[]; readonly bytes: number }[] {
  const messages: { chunks: Buffer[]; bytes: number }[] = [];
  for (const chunk of chunks) {
    let last = messages.at(-1);
    if (!last || last.bytes + chunk.length > MESSAGE_BYTES) messages.push((last = { chunks: [], bytes: 0 }));
    last.chunks.push(chunk);
    last.bytes += chunk.length;
  }
  return messages;
}
