import type { AuthUser } from '../authorization/auth-user.js';
import type { AppPath } from './way-of.js';

/**
 * Headers between the server and the host of an agent's HTTP app. The server removes them from requests of
 * clients.
 */
export const CONTROL_HEADER = 'x-agentplane-control';
/** Names one request, so that a request that the app leaves to the server comes back as the same one. */
export const PASS_HEADER = 'x-agentplane-pass';
/** The authenticated caller, as JSON in base64url. */
export const CALLER_HEADER = 'x-agentplane-caller';
export function callerText(caller: AuthUser): string {
  return Buffer.from(JSON.stringify(caller)).toString('base64url');
}
/** Proves to an app in Python that its server asks, and no other process that found its socket. */
export const WORD_HEADER = 'x-agentplane-word';
/** Length of an answer as the app announced it: a wrong one would make HTTP/2 end the connection of all. */
export const LENGTH_HEADER = 'x-agentplane-length';
/** Scheme and host that the client requested: `http` or `https`, then the host. */
export const HOST_HEADER = 'x-agentplane-host';

const OWN_HEADERS = /^x-agentplane-/;

/** Headers of one connection, not of the messages sent over it (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/**
 * Returns true when a header may be forwarded on the next connection and is not one of the server's own.
 * @param connection that header
 */
export function goesOn(name: string, connection: string): boolean {
  if (HOP_BY_HOP.has(name) || OWN_HEADERS.test(name)) return false;
  return (
    connection === '' ||
    !connection
      .toLowerCase()
      .split(',')
      .some((one) => one.trim() === name)
  );
}

/** Descriptor at which the host finds its server: HTTP/2 without TLS, and nothing else. */
export const REQUESTS_FD = 3;

/** Bytes of one answer that a client may leave unread before the app has to wait. */
export const STREAM_WINDOW_BYTES = 256 * 1024;

/** Requests to an app at once. */
export const MOST_REQUESTS = 1_000;

/**
 * Megabytes that all requests together may hold. Node takes data off the window of the connection as it
 * arrives, so a reader that has stopped does not stop the others; data that waits for it is bounded by its
 * own window.
 */
export const SESSION_MEGABYTES = (2 * MOST_REQUESTS * STREAM_WINDOW_BYTES) / 2 ** 20;

/** First message to the host. */
export interface AppOrder {
  /** Real path of the agent's folder. */
  readonly folder: string;
  /** Absolute path of the module. */
  readonly file: string;
  readonly exportName: string;
  readonly logLevel: string;
}

/** Answer of the host to it, with 200. */
export interface LoadedApp {
  readonly sources: readonly string[];
  readonly packages: readonly string[];
  /** Paths that may reach the app. Undefined: paths that the server has no route for. */
  readonly paths: readonly AppPath[] | undefined;
}
