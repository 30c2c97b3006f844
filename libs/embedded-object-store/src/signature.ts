import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { S3Error } from './s3-error.js';
import { encodeStrictly, type S3Request } from './s3-request.js';
import type { StoreUser, StoreUsers } from './users/store-user.js';

const ALGORITHM = 'AWS4-HMAC-SHA256';
const MAX_SKEW_MS = 15 * 60_000;
const MAX_PRESIGNED_SECONDS = 7 * 24 * 3600;

/** Signer of a request, and the values that the body's own signatures build on. */
export interface Signed {
  readonly user: StoreUser;
  /** A SHA-256 in hex, or one of the words for unsigned and chunked payloads. */
  readonly payload: string;
  readonly signature: string;
  readonly date: string;
  readonly scope: string;
  readonly signingKey: Buffer;
}

interface Claim {
  readonly accessKeyId: string;
  readonly scope: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  readonly date: string;
  readonly payload: string;
  readonly presigned: boolean;
}

export const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
export const hmac = (key: string | Buffer, data: string): Buffer =>
  createHmac('sha256', key).update(data).digest();

export function sameSignature(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}

function malformed(): S3Error {
  return new S3Error('AuthorizationHeaderMalformed', 'The Authorization header is malformed.');
}

function credentialOf(text: string): { accessKeyId: string; scope: string } {
  // Access keys may contain slashes: the scope is the last four words.
  const words = text.split('/');
  if (words.length < 5 || words.at(-1) !== 'aws4_request') throw malformed();
  return { accessKeyId: words.slice(0, -4).join('/'), scope: words.slice(-4).join('/') };
}

function headerClaim(request: S3Request, authorization: string): Claim {
  if (!authorization.startsWith(`${ALGORITHM} `))
    throw new S3Error('AccessDenied', 'Only signature version 4 is supported.');
  const fields = new Map(
    authorization
      .slice(ALGORITHM.length + 1)
      .split(',')
      .map((part) => [part.slice(0, part.indexOf('=')).trim(), part.slice(part.indexOf('=') + 1).trim()]),
  );
  const date = request.headers['x-amz-date'];
  const payload = request.headers['x-amz-content-sha256'];
  const signature = fields.get('Signature');
  const signedHeaders = fields.get('SignedHeaders')?.split(';');
  if (typeof date !== 'string' || typeof payload !== 'string' || !signature || !signedHeaders)
    throw malformed();
  return {
    ...credentialOf(fields.get('Credential') ?? ''),
    signedHeaders,
    signature,
    date,
    payload,
    presigned: false,
  };
}

function queryClaim(request: S3Request): Claim {
  const { query } = request;
  const date = query.get('X-Amz-Date');
  const signature = query.get('X-Amz-Signature');
  const signedHeaders = query.get('X-Amz-SignedHeaders')?.split(';');
  if (query.get('X-Amz-Algorithm') !== ALGORITHM || !date || !signature || !signedHeaders) throw malformed();
  const payload = query.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD';
  return {
    ...credentialOf(query.get('X-Amz-Credential') ?? ''),
    signedHeaders,
    signature,
    date,
    payload,
    presigned: true,
  };
}

function timeOf(date: string): number {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date);
  if (!match) throw malformed();
  const [, year, month, day, hour, minute, second] = match.map(Number);
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
}

function checkTime(request: S3Request, claim: Claim, now: Date): void {
  const age = now.getTime() - timeOf(claim.date);
  if (!claim.presigned) {
    if (Math.abs(age) > MAX_SKEW_MS)
      throw new S3Error(
        'RequestTimeTooSkewed',
        'The clocks of client and server differ by more than 15 minutes.',
      );
    return;
  }
  const seconds = Number(request.query.get('X-Amz-Expires'));
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_PRESIGNED_SECONDS) throw malformed();
  if (age > seconds * 1000 || age < -MAX_SKEW_MS) throw new S3Error('AccessDenied', 'Request has expired');
}

function hasRepeated(names: readonly string[]): boolean {
  return new Set(names).size < names.length;
}

function canonicalRequest(request: S3Request, claim: Claim): string {
  const query = request.queryPairs
    .filter(([name]) => !(claim.presigned && name === 'X-Amz-Signature'))
    .map(([name, value]) => `${encodeStrictly(name)}=${encodeStrictly(value)}`)
    .sort((a, b) => (a < b ? -1 : 1))
    .join('&');
  const headers = claim.signedHeaders.map((name) => {
    const value = Object.hasOwn(request.headers, name) ? request.headers[name] : undefined;
    const text = Array.isArray(value) ? value.join(',') : (value ?? '');
    return `${name}:${text.trim().replace(/ +/g, ' ')}\n`;
  });
  return [
    request.method,
    request.canonicalPath,
    query,
    headers.join(''),
    claim.signedHeaders.join(';'),
    claim.payload,
  ].join('\n');
}

/**
 * Judges signature version 4, in the header or in a presigned address. Any region is accepted: a store of one
 * machine has no reason to insist on a name.
 * @throws S3Error (AccessDenied, InvalidAccessKeyId, SignatureDoesNotMatch, RequestTimeTooSkewed, …)
 */
export function verifySignature(request: S3Request, users: StoreUsers, now: Date): Signed {
  const { authorization } = request.headers;
  if (!authorization && !request.query.has('X-Amz-Algorithm'))
    throw new S3Error('AccessDenied', 'The request is not signed.');
  const claim = authorization ? headerClaim(request, authorization) : queryClaim(request);
  const user = users.find(claim.accessKeyId);
  if (!user)
    throw new S3Error('InvalidAccessKeyId', 'The access key id you provided does not exist in our records.');
  // a name that comes thousands of times would make one request many megabytes to hash
  if (!claim.signedHeaders.includes('host') || hasRepeated(claim.signedHeaders)) throw malformed();
  checkTime(request, claim, now);
  const [day = '', region = '', service = ''] = claim.scope.split('/');
  if (service !== 's3' || !claim.date.startsWith(day)) throw malformed();
  const signingKey = hmac(
    hmac(hmac(hmac(`AWS4${user.secretAccessKey}`, day), region), service),
    'aws4_request',
  );
  const toSign = [ALGORITHM, claim.date, claim.scope, sha256(canonicalRequest(request, claim))].join('\n');
  if (!sameSignature(hmac(signingKey, toSign).toString('hex'), claim.signature))
    throw new S3Error(
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided. Check your secret access key.',
    );
  const { payload, signature, date, scope } = claim;
  return { user, payload, signature, date, scope, signingKey };
}
