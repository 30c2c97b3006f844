import { createHmac, timingSafeEqual } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '#lib/time';
import type { ExampleRow, StoredAttachment, StoredRun, TraceStore } from '#lib/trace-store';
import type { AttachmentStore } from '../core/attachment-store.js';
import { originOf } from '../wire/origin-of.js';

/** Object that a URL opens, and the time at which it expires. */
export interface AttachmentGrant {
  readonly tenantId: string;
  /** The run, or the example, that refers to it. */
  readonly runId: string;
  readonly objectId: string;
  /** Token of the link by which it was answered: the URL ends with it. */
  readonly share?: string | undefined;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
}

const ID_BYTES = 16;
const TIME_BYTES = 6;
const GRANT_BYTES = 3 * ID_BYTES + TIME_BYTES;
const SHARED_BYTES = GRANT_BYTES + ID_BYTES;
const MAC_BYTES = 32;
const LENGTHS = [GRANT_BYTES, SHARED_BYTES].map((bytes) => Math.ceil(((bytes + MAC_BYTES) * 4) / 3));

function macOf(grant: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(grant).digest();
}

/** A token for a URL: of one length, and of another for what a link opened. */
export function signAttachment(grant: AttachmentGrant, key: Buffer): string {
  const { tenantId, runId, objectId, share, untilMs } = grant;
  const bytes = Buffer.alloc(share === undefined ? GRANT_BYTES : SHARED_BYTES);
  bytes.write([tenantId, runId, objectId].join('').replaceAll('-', ''), 'hex');
  bytes.writeUIntBE(untilMs, 3 * ID_BYTES, TIME_BYTES);
  if (share !== undefined) bytes.write(share.replaceAll('-', ''), GRANT_BYTES, 'hex');
  return Buffer.concat([bytes, macOf(bytes, key)]).toString('base64url');
}

/** Undefined for a token that was not signed with this key, or is over. */
export function verifyAttachment(token: string, key: Buffer, nowMs: number): AttachmentGrant | undefined {
  if (!LENGTHS.includes(token.length)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  const length = bytes.length - MAC_BYTES;
  if (length !== GRANT_BYTES && length !== SHARED_BYTES) return undefined;
  const grant = bytes.subarray(0, length);
  if (!timingSafeEqual(bytes.subarray(length), macOf(grant, key))) return undefined;
  const untilMs = grant.readUIntBE(3 * ID_BYTES, TIME_BYTES);
  if (untilMs < nowMs) return undefined;
  const [tenantId, runId, objectId] = [0, 1, 2].map((at) => uuidAt(grant, at * ID_BYTES));
  const share = length === SHARED_BYTES ? uuidAt(grant, GRANT_BYTES) : undefined;
  return tenantId && runId && objectId ? { tenantId, runId, objectId, share, untilMs } : undefined;
}

function uuidAt(bytes: Buffer, at: number): string {
  return bytes
    .subarray(at, at + ID_BYTES)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** URL from which one attachment is fetched. */
export interface AttachmentUrl {
  readonly presigned_url: string;
  /** Name of the object in its bucket. */
  readonly s3_url: string;
  readonly mime_type: string;
}

/** URLs by name of the attachment. */
export type AttachmentLinks = ReadonlyMap<string, AttachmentUrl>;

type Linked = Pick<StoredAttachment, 'name' | 'objectId' | 'contentType'>;

const VALID_MS = 3_600_000;
/** Bytes of one reference in memory and in the answer. */
const BYTES_EACH = 1_500;

/** Reader that URLs are made for. */
export interface Reader {
  readonly caller: { readonly tenantId: string };
  /** Token of the link by which the runs are read: the URLs end with it. */
  readonly share?: string | undefined;
  /**
   * Origin that the caller used, from `askedOrigin`; the URLs begin with it unless the settings give another.
   */
  readonly origin: string;
  /** Callback with the number of bytes more that are held. */
  readonly hold: (bytes: number) => void;
}

export interface UrlParts {
  /** Undefined when none is configured: no run has attachments then. */
  readonly store: AttachmentStore | undefined;
  readonly table: Pick<TraceStore['attachments'], 'ofRuns'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Address at which clients reach the api. */
  readonly publicUrl: string | undefined;
}

/** Makes the URLs by which attachments are fetched without a key. */
export class AttachmentUrls {
  constructor(private readonly parts: UrlParts) {}

  /** @returns by the id of the run */
  async of(reader: Reader, runs: readonly StoredRun[]): Promise<ReadonlyMap<string, AttachmentLinks>> {
    const { store, table } = this.parts;
    if (!store || runs.length === 0) return new Map();
    const found = await table.ofRuns(
      reader.caller.tenantId,
      runs.map(({ row }) => row),
    );
    reader.hold(found.length * BYTES_EACH);
    return this.#linksOf(store, reader, [...Map.groupBy(found, ({ runId }) => runId)]);
  }

  /** @returns by the id of the example; nothing of those without attachments */
  async ofExamples(
    reader: Reader,
    examples: readonly ExampleRow[],
  ): Promise<ReadonlyMap<string, AttachmentLinks>> {
    const { store } = this.parts;
    const some = examples.filter(({ attachments }) => attachments.length > 0);
    if (!store || some.length === 0) return new Map();
    reader.hold(some.reduce((sum, { attachments }) => sum + attachments.length, 0) * BYTES_EACH);
    return this.#linksOf(
      store,
      reader,
      some.map(({ id, attachments }) => [id, attachments] as const),
    );
  }

  /** Links of one owner, made in one turn of the event loop: a page may have 10,000 signatures. */
  async #linksOf(
    store: AttachmentStore,
    reader: Reader,
    owners: readonly (readonly [id: string, some: readonly Linked[]])[],
  ): Promise<ReadonlyMap<string, AttachmentLinks>> {
    const links = new Map<string, AttachmentLinks>();
    for (const [id, some] of owners) {
      if (links.size > 0) await setImmediate();
      links.set(id, this.#links(store, reader, id, some));
    }
    return links;
  }

  /** @param ownerId id of the run or the example that has them */
  #links(
    store: AttachmentStore,
    { caller: { tenantId }, share, origin: asked }: Reader,
    ownerId: string,
    some: readonly Linked[],
  ): AttachmentLinks {
    const { clock, publicUrl } = this.parts;
    const origin = originOf(publicUrl, asked);
    const untilMs = clock.now().getTime() + VALID_MS;
    return new Map(
      some.map(({ name, objectId, contentType }) => {
        const grant = { tenantId, runId: ownerId, objectId, share, untilMs };
        return [
          name,
          {
            presigned_url: `${origin}/attachments/${signAttachment(grant, store.urlKey)}`,
            s3_url: store.keyOf(tenantId, objectId),
            mime_type: contentType,
          },
        ];
      }),
    );
  }
}
