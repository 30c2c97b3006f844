import { createHmac, timingSafeEqual } from 'node:crypto';

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
