import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { createSecureContext, getCACertificates } from 'node:tls';
import { errorText } from '#lib/errors';

/** The part of a request that REST needs. */
export interface FetchRequest {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
}

export type Fetch = (url: string, asked: FetchRequest) => Promise<Response>;

/** Statuses whose answers have no body. */
const BODILESS = new Set([204, 205, 304]);

/** `fetch` as it is, which follows no redirect. */
const usualFetch: Fetch = (url, asked) => fetch(url, { ...asked, redirect: 'manual' });

/**
 * Certificates of an authority, or a server's own one.
 * @param path PEM
 * @throws Error that names the file
 */
export function readAuthority(path: string): string {
  try {
    const text = readFileSync(path, 'utf8');
    createSecureContext({ ca: text });
    if (!text.includes('-----BEGIN')) throw new Error('there is no certificate in it');
    return text;
  } catch (error) {
    throw new Error(`using the certificate of ${path} failed: ${errorText(error)}; give a PEM file`, {
      cause: error,
    });
  }
}

/**
 * Fetch for an address that trusts the certificates of a file, if given, beside the well-known ones.
 * @throws Error for a file that cannot be used
 */
export function fetchOf({ url, caFile }: { readonly url: string; readonly caFile?: string }): Fetch {
  const isTrusting = caFile !== undefined && url.startsWith('https:');
  return isTrusting ? trustingFetch(readAuthority(caFile)) : usualFetch;
}

/**
 * Like `fetch`, but trusts these certificates beside the well-known ones, for its own connections only.
 * `fetch` itself takes no certificates.
 * @param ca PEM
 */
function trustingFetch(ca: string): Fetch {
  const agent = new Agent({ keepAlive: true, ca: [...getCACertificates('default'), ca] });
  return async (url, { body, ...asked }) => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(url, { ...asked, agent }, resolve);
      outgoing.once('error', reject);
      outgoing.end(body);
    });
    try {
      return responseOf(answer, asked.signal);
    } catch (error) {
      answer.destroy();
      throw error;
    }
  };
}

/** @throws Error for an answer that no `Response` can be, such as a status above 599 */
function responseOf(answer: IncomingMessage, signal: AbortSignal): Response {
  const { statusCode: status = 0, rawHeaders } = answer;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  if (!BODILESS.has(status)) return new Response(piecesOf(answer, signal), { status, headers });
  answer.resume();
  return new Response(null, { status, headers });
}

/** An answer that is aborted ends with the reason, as that of `fetch` does. */
async function* piecesOf(
  answer: IncomingMessage,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const piece of answer) yield piece as Uint8Array;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
