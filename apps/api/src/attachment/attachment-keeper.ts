import { ObjectStoreError } from '#lib/object-store';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Attachments } from '#lib/trace-store';
import type { AttachmentStore } from '../core/attachment-store.js';
import { NotKeptError } from './not-kept-error.js';
import { ObjectWriter } from './object-writer.js';

/** Pause after a failure of the store: requests must not queue up behind its time-outs. */
const PAUSE_MS = 10_000;
const UNAVAILABLE = 'the object store is unavailable; send it again later';
const NO_STORE =
  'this platform has no object store for attachments; set AGENTPLANE_ATTACHMENT_BUCKET of the api';

/** The bytes of one attachment. */
export interface SentAttachment {
  /** Pieces as they come; always read to their end, unless something is thrown that ends the request. */
  readonly pieces: AsyncIterable<Buffer>;
  /** Bytes that the client has announced. */
  readonly length: number | undefined;
  /** Callback with the bytes that are reserved before they have come. @throws PublicError too_many */
  readonly hold: (bytes: number) => void;
  /** Callback with the number of bytes in memory. */
  readonly keep: (bytes: number) => void;
}

export interface KeeperParts {
  /** Undefined when none is configured: nothing is kept then. */
  readonly store: AttachmentStore | undefined;
  readonly table: Attachments;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Stores the bytes of attachments. */
export class AttachmentKeeper {
  #pausedUntilMs = 0;

  constructor(private readonly parts: KeeperParts) {}

  /**
   * @returns the id of the object
   * @throws NotKeptError with the reason; PublicError; errors of the pieces
   */
  async keep(tenantId: string, sent: SentAttachment): Promise<string> {
    const { store, table } = this.parts;
    const refusal = this.#refusal();
    if (!store || refusal !== undefined) return drop(sent, new NotKeptError(refusal ?? NO_STORE));
    const writer = new ObjectWriter({ store, table, hold: sent.hold }, tenantId, sent.length);
    try {
      for await (const piece of sent.pieces) {
        try {
          await writer.write(piece);
        } catch (error) {
          const why = this.#reasonOf(error);
          await writer.abort(isStoreFailure(error));
          return await drop(sent, why);
        }
        sent.keep(writer.heldBytes);
      }
      return await writer.finish();
    } catch (error) {
      await writer.abort(isStoreFailure(error));
      throw this.#reasonOf(error);
    } finally {
      sent.keep(0);
    }
  }

  #refusal(): string | undefined {
    const { store, clock } = this.parts;
    if (!store) return NO_STORE;
    return clock.monotonicMs() < this.#pausedUntilMs ? UNAVAILABLE : undefined;
  }

  /** Reason for a failure of the store, which does not fail the request. @throws every other error */
  #reasonOf(error: unknown): NotKeptError {
    if (error instanceof NotKeptError) return error;
    if (!isStoreFailure(error)) throw error;
    const { clock, log } = this.parts;
    this.#pausedUntilMs = clock.monotonicMs() + PAUSE_MS;
    const fields = { code: error.code, attempted: error.attempted };
    log.error(fields, 'storing an attachment failed; its run is stored without it');
    return new NotKeptError(UNAVAILABLE, { cause: error });
  }
}

function isStoreFailure(error: unknown): error is ObjectStoreError {
  return error instanceof ObjectStoreError;
}

/** The rest is received and dropped, so that the parts behind it can be read. */
async function drop({ pieces, keep }: SentAttachment, why: NotKeptError): Promise<never> {
  for await (const piece of pieces) if (piece.length > 0) keep(0);
  throw why;
}
