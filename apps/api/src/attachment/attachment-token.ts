import { createHmac, timingSafeEqual } from 'node:crypto';

/** What a URL opens, and until when. */
export interface AttachmentGrant {
  readonly tenantId: string;
  readonly runId: string;
  readonly objectId: string;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
}

const ID_BYTES = 16;
const TIME_BYTES = 6;
const GRANT_BYTES = 3 * ID_BYTES + TIME_BYTES;
const MAC_BYTES = 32;
const LENGTH = Math.ceil(((GRANT_BYTES + MAC_BYTES) * 4) / 3);

function macOf(grant: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(grant).digest();
}

/** A token of fixed length for a URL. */
export function signAttachment(grant: AttachmentGrant, key: Buffer): string {
  const { tenantId, runId, objectId, untilMs } = grant;
  const bytes = Buffer.alloc(GRANT_BYTES);
  bytes.write([tenantId, runId, objectId].join('').replaceAll('-', ''), 'hex');
  bytes.writeUIntBE(untilMs, 3 * ID_BYTES, TIME_BYTES);
  return Buffer.concat([bytes, macOf(bytes, key)]).toString('base64url');
}

/** Undefined for a token that was not signed with this key, or is over. */
export function verifyAttachment(token: string, key: Buffer, nowMs: number): AttachmentGrant | undefined {
  if (token.length !== LENGTH) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== GRANT_BYTES + MAC_BYTES) return undefined;
  const grant = bytes.subarray(0, GRANT_BYTES);
  if (!timingSafeEqual(bytes.subarray(GRANT_BYTES), macOf(grant, key))) return undefined;
  const untilMs = grant.readUIntBE(3 * ID_BYTES, TIME_BYTES);
  if (untilMs < nowMs) return undefined;
  const [tenantId, runId, objectId] = [0, 1, 2].map((at) => uuidAt(grant, at * ID_BYTES));
  return tenantId && runId && objectId ? { tenantId, runId, objectId, untilMs } : undefined;
}

function uuidAt(bytes: Buffer, at: number): string {
  return bytes
    .subarray(at, at + ID_BYTES)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
