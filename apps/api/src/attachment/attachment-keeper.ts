import { createHash } from 'node:crypto';
import { Pieces } from '#lib/http';
import { type MultipartUpload, ObjectStoreError } from '#lib/object-store';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { AttachmentContent, Attachments } from '#lib/trace-store';
import type { AttachmentStore } from '../core/attachment-store.js';

/** An attachment is not stored; its run is. The message is for people, and follows a colon. */
export class NotKeptError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NotKeptError';
  }
}

/** Smaller attachments are sent in one request, once their hash is known. */
const SMALL_BYTES = 1 << 20;
/** The least that S3 takes. */
const PART_BYTES = 5 << 20;

const FULL =
  'the attachments of this workspace take all the bytes that they may; delete traces, or have AGENTPLANE_ATTACHMENT_BYTES_PER_WORKSPACE raised';
const REMOVED = 'storing it took too long; send it again';

/** Dependencies of a writer. */
export interface WriterParts {
  readonly store: AttachmentStore;
  readonly table: Attachments;
  /** Callback with the bytes that are reserved before they have come. @throws PublicError too_many */
  readonly hold: (bytes: number) => void;
}

/**
 * Writes one attachment as it arrives, with the intent recorded before the first byte goes out. One whose content is
 * stored already is not stored again.
 */
class ObjectWriter {
  readonly #hash = createHash('sha256');
  #pieces = new Pieces();
  #size = 0;
  #id: string | undefined;
  #upload: MultipartUpload | undefined;

  constructor(
    private readonly parts: WriterParts,
    private readonly tenantId: string,
    private readonly statedBytes = 0,
  ) {}

  /** Bytes in memory. */
  get heldBytes(): number {
    return this.#upload ? PART_BYTES : this.#pieces.length;
  }

  /** @throws ObjectStoreError, NotKeptError, PublicError */
  async write(piece: Buffer): Promise<void> {
    this.#hash.update(piece);
    this.#size += piece.length;
    if (this.#upload) return this.#upload.write(piece);
    this.#pieces.add(piece);
    if (this.#size > SMALL_BYTES) await this.#startUpload();
  }

  /** @returns the object that has the content. @throws ObjectStoreError, NotKeptError, PublicError */
  async finish(): Promise<string> {
    const { table } = this.parts;
    const content = { sha256: this.#hash.digest(), size: this.#size };
    const known = await table.findContent(this.tenantId, content);
    if (known !== undefined) {
      await this.abort();
      return known;
    }
    const id = this.#id ?? (await this.#begin(this.#size));
    if (!(await table.reserve(this.tenantId, id, content))) throw new NotKeptError(FULL);
    await this.#complete(id);
    return this.#settle(id, content);
  }

  /**
   * Throws away the written data; failures are left to tidying.
   * @param isStoreFailing tidying does all of it: asking a store that does not answer would hold up the runs
   */
  async abort(isStoreFailing = false): Promise<void> {
    const [upload, id] = [isStoreFailing ? undefined : this.#upload, this.#id];
    this.#pieces = new Pieces();
    this.#upload = undefined;
    this.#id = undefined;
    if (id === undefined) return;
    await Promise.allSettled([upload?.abort(), this.parts.table.abandon(this.tenantId, id)]);
  }

  async #begin(size: number): Promise<string> {
    this.#id = await this.parts.table.begin(this.tenantId, size);
    if (this.#id === undefined) throw new NotKeptError(FULL);
    return this.#id;
  }

  async #startUpload(): Promise<void> {
    const { store, hold } = this.parts;
    const id = await this.#begin(Math.max(this.statedBytes, this.#size));
    hold(PART_BYTES);
    this.#upload = await store.objects.startMultipartUpload(store.bucket, store.keyOf(this.tenantId, id), {
      partBytes: PART_BYTES,
      inFlight: 1,
    });
    const before = this.#pieces.whole();
    this.#pieces = new Pieces();
    await this.#upload.write(before);
  }

  async #complete(id: string): Promise<void> {
    const { store } = this.parts;
    if (this.#upload) await this.#upload.complete();
    else await store.objects.put(store.bucket, store.keyOf(this.tenantId, id), this.#pieces.whole());
  }

  async #settle(id: string, content: AttachmentContent): Promise<string> {
    const { table, store } = this.parts;
    const settled = await table.settle(this.tenantId, id, content);
    if (settled !== undefined) return settled;
    // tidying took it for one that was given up, and may have looked for the object before it was there
    await store.objects.delete(store.bucket, store.keyOf(this.tenantId, id));
    throw new NotKeptError(REMOVED);
  }
}

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
