import type { IncomingMessage } from 'node:http';
import { Admission, type Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import { bodyPieces, Pieces } from '#lib/http';
import { ApiError } from '#lib/kube-semantics';

/** One entry of an Accept header. */
export interface MediaType {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Format of a response. */
export type AnswerFormat =
  | { readonly kind: 'object'; readonly yaml: boolean }
  | { readonly kind: 'table'; readonly version: string }
  | { readonly kind: 'metadata'; readonly version: string };

/** The entries of an Accept header in the order of preference that kubectl means: as they are written. */
export function parseAccept(header: string | undefined): readonly MediaType[] {
  return (header ?? '*/*')
    .split(',')
    .map((entry) => {
      const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
      const pairs = parameters
        .map((parameter) => parameter.split('=', 2))
        .map(([name = '', value = '']) => [name, value]);
      return { type: type.toLowerCase(), parameters: Object.fromEntries(pairs) as Record<string, string> };
    })
    .filter((entry) => entry.type !== '');
}

const ANY_JSON = new Set(['application/json', 'application/*', '*/*']);

/** The first format that we can write, or undefined when the client accepts none (406). */
export function negotiate(header: string | undefined): AnswerFormat | undefined {
  for (const { type, parameters } of parseAccept(header)) {
    if (type === 'application/yaml' && !parameters.as) return { kind: 'object', yaml: true };
    if (!ANY_JSON.has(type)) continue;
    const isMeta = parameters.g === undefined || parameters.g === 'meta.k8s.io';
    const version = parameters.v ?? 'v1';
    if (parameters.as === undefined) return { kind: 'object', yaml: false };
    if (!isMeta || (version !== 'v1' && version !== 'v1beta1')) continue;
    if (parameters.as === 'Table') return { kind: 'table', version };
    if (parameters.as === 'PartialObjectMetadata' || parameters.as === 'PartialObjectMetadataList')
      return { kind: 'metadata', version };
  }
  return undefined;
}

/** The bare type of a Content-Type header. */
export function contentType(header: string | undefined): string {
  return (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Reads a boolean of the query as Kubernetes does: any value but `false` and `0` is true. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}

/** Maximum size of a body at a real API server: 3 MB. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;
/**
 * Limit for all bodies that are received or decoded, of which one user gets half, the next a half of the
 * rest.
 */
const MAX_BYTES_OF_ALL = 64 * 1024 * 1024;

const TOO_MUCH =
  'the bodies of requests under way fill the memory that there is for them; send fewer or smaller ones at a time';

/** Memory budget for the bodies of all requests. */
export function bodyBudget(maxBytes = MAX_BYTES_OF_ALL): Admission {
  return new Admission({ capacity: maxBytes, halves: true, refusal: TOO_MUCH });
}

/**
 * The whole body. The rest of one that is refused is received and dropped, so that its sender learns why.
 * @param account its part of the memory budget; undefined for users who are not counted
 * @throws ApiError 413, 429
 */
export async function readBody(request: IncomingMessage, account: Place | undefined): Promise<Buffer> {
  const pieces = new Pieces();
  for await (const piece of bodyPieces(request)) {
    if (pieces.length + piece.length > MAX_BODY_BYTES) {
      throw new ApiError(
        413,
        'RequestEntityTooLarge',
        `Request entity too large: limit is ${MAX_BODY_BYTES}`,
      );
    }
    hold(account, piece.length);
    pieces.add(piece);
  }
  return pieces.whole();
}

function hold(account: Place | undefined, bytes: number): void {
  try {
    account?.hold(bytes);
  } catch (error) {
    if (!(error instanceof PublicError)) throw error;
    throw new ApiError(429, 'TooManyRequests', error.message, { retryAfterSeconds: 1 });
  }
}
