import type { ServerResponse } from 'node:http';
import type { Checksum } from './checksum.js';
import type { MultipartFiles } from './multipart-files.js';
import type { ObjectFiles, WriteCondition } from './object-files.js';
import type { RequestBody } from './request-body.js';
import { S3Error } from './s3-error.js';
import type { S3Request } from './s3-request.js';
import type { StoreFolder } from './store-folder.js';
import type { StoreUser } from './users/store-user.js';
import { xmlDocument, type XmlElement } from './xml.js';

/** Everything that a verified request may need. */
export interface Exchange {
  readonly request: S3Request;
  readonly user: StoreUser;
  readonly body: RequestBody;
  readonly response: ServerResponse;
  readonly folder: StoreFolder;
  readonly objects: ObjectFiles;
  readonly uploads: MultipartFiles;
  readonly region: string;
  readonly now: Date;
}

export function sendXml(
  response: ServerResponse,
  name: string,
  content: readonly XmlElement[],
  status = 200,
): void {
  const text = Buffer.from(xmlDocument(name, content));
  response.writeHead(status, { 'content-type': 'application/xml', 'content-length': text.length });
  response.end(text);
}

export function sendEmpty(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, status === 204 ? headers : { 'content-length': 0, ...headers });
  response.end();
}

export const quoted = (etag: string): string => `"${etag}"`;
export const unquoted = (etag: string): string => etag.trim().replace(/^"|"$/g, '');

/** A whole number from the query. @throws S3Error (InvalidArgument) */
export function numberOf(request: S3Request, name: string, fallback: number, max: number): number {
  const text = request.query.get(name);
  if (text === undefined || text === '') return fallback;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0)
    throw new S3Error('InvalidArgument', `${name} must be a number.`);
  return Math.min(number, max);
}

/** @throws S3Error (NotImplemented) for conditions that are not understood: a condition ignored is data lost */
export function writeConditionOf(request: S3Request): WriteCondition {
  const absent = request.headers['if-none-match'];
  const match = request.headers['if-match'];
  if (absent !== undefined && absent !== '*')
    throw new S3Error('NotImplemented', 'If-None-Match of a write can only be *.');
  return {
    ...(absent === undefined ? {} : { onlyIfAbsent: true }),
    ...(match === undefined ? {} : { onlyIfEtag: unquoted(match) }),
  };
}

/** A checksum as it stands in an answer. */
export function checksumHeaders(checksum: Checksum | undefined): Record<string, string> {
  return checksum ? { [checksum.name]: checksum.value, 'x-amz-checksum-type': 'FULL_OBJECT' } : {};
}

const KEPT = [
  'content-type',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
];

const ENCRYPTION = /^x-amz-server-side-encryption/;
/** Canned ACLs that grant nothing besides what the bucket's keys have; s3fs sends an empty one. */
const OWN_ACLS = new Set(['', 'private', 'bucket-owner-read', 'bucket-owner-full-control']);

/**
 * Refuses settings of an object that would not be applied.
 * @throws S3Error
 */
export function checkWriteHeaders({ headers }: S3Request): void {
  if (Object.keys(headers).some((name) => ENCRYPTION.test(name)))
    throw new S3Error('NotImplemented', 'Server-side encryption is not implemented.');
  const storageClass = headers['x-amz-storage-class'];
  if (storageClass !== undefined && storageClass !== 'STANDARD')
    throw new S3Error('InvalidStorageClass', 'The only storage class is STANDARD.');
  const acl = headers['x-amz-acl'];
  if (acl !== undefined && !(typeof acl === 'string' && OWN_ACLS.has(acl)))
    throw new S3Error('AccessControlListNotSupported', 'The bucket does not allow ACLs.');
}

/** The headers that come back with the object. */
export function keptHeaders(request: S3Request): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value !== 'string' || !(KEPT.includes(name) || name.startsWith('x-amz-meta-'))) continue;
    const text = name === 'content-encoding' ? withoutFraming(value) : value;
    if (text !== '') kept[name] = text;
  }
  return { 'content-type': 'application/octet-stream', ...kept };
}

/** Removes `aws-chunked`, which is the encoding of the request and no part of the object. */
function withoutFraming(encodings: string): string {
  const words = encodings.split(',').map((word) => word.trim());
  return words.filter((word) => word !== 'aws-chunked' && word !== '').join(', ');
}

/** @throws S3Error (BadDigest) when a body does not match its `Content-MD5`. @param md5 hex */
export function checkMd5(request: S3Request, md5: string): void {
  const digest = request.headers['content-md5'];
  if (typeof digest === 'string' && digest !== Buffer.from(md5, 'hex').toString('base64'))
    throw new S3Error('BadDigest', 'The Content-MD5 does not match the body.');
}
