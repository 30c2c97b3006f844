import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { S3Error } from './s3-error.js';

/** A request as S3 sees it: path-style address, subresource words in the query. */
export interface S3Request {
  readonly method: string;
  /** Empty for requests about the whole store. */
  readonly bucket: string;
  /** Empty for requests about a bucket. */
  readonly key: string;
  /** Decoded; a repeated name keeps its last value. */
  readonly query: ReadonlyMap<string, string>;
  /** Path and query as they are signed: decoded once, then encoded by the rules of signature version 4. */
  readonly canonicalPath: string;
  readonly queryPairs: readonly (readonly [name: string, value: string])[];
  readonly headers: IncomingHttpHeaders;
}

/** Percent-encoding of signature version 4: everything but letters, digits and `-._~`. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error('InvalidURI', 'The URL could not be decoded.');
  }
}

/** @throws S3Error (InvalidURI, KeyTooLongError) */
export function parseRequest(request: IncomingMessage): S3Request {
  const [rawPath = '/', rawQuery = ''] = splitOnce(request.url ?? '/', '?');
  const path = decode(rawPath);
  const [bucket = '', key = ''] = splitOnce(path.slice(1), '/');
  if (Buffer.byteLength(key) > 1024)
    throw new S3Error('KeyTooLongError', 'The key is longer than 1024 bytes.');
  const queryPairs = rawQuery
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', value = ''] = splitOnce(pair, '=');
      return [decode(name), decode(value)] as const;
    });
  return {
    method: request.method ?? 'GET',
    bucket,
    key,
    query: new Map(queryPairs),
    canonicalPath: path.split('/').map(encodeStrictly).join('/'),
    queryPairs,
    headers: request.headers,
  };
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
