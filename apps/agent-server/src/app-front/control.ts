import type { OutgoingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { AppSettings } from '#lib/graph-configuration';
import type { AuthUser } from '../authorization/auth-user.js';

/**
 * One request on its way to an app: the writable side is its body, the readable side the body of the answer.
 * Emits `response` with headers.
 */
export type AppExchange = Duplex & {
  /** Gives it up; the app hears that its client has left. */
  close(code?: number): void;
  /** Other than 0 once it broke. */
  readonly rstCode?: number | undefined;
};

/** A process that has an agent's HTTP app loaded, in any language. */
export interface AppProcess {
  readonly pid: number | undefined;
  readonly loaded: Promise<void>;
  /** Resolves with how it ended. */
  readonly ended: Promise<Error>;
  /** Error with which it ended; undefined while it runs. */
  readonly end: Error | undefined;
  /** Paths that may reach the app; see `LoadedApp`. */
  readonly paths: LoadedApp['paths'];
  /** Milliseconds since it was last heard of. */
  readonly silentMs: number;
  describeLoad(): string | undefined;
  /**
   * Sends a request.
   * @param headers with `:method` and `:path`
   * @param isWhole there is no body
   * @throws when the process has ended, or the headers are invalid
   */
  request(headers: OutgoingHttpHeaders, isWhole: boolean): AppExchange;
  kill(): void;
  leave(): Promise<void>;
}

/**
 * Pattern of plain paths. Paths that proxies, routers and addresses may read differently go to the app first.
 */
const PLAIN_PATH = /^(\/[\w~:@!$&'()*+,=-][\w.~:@!$&'()*+,=-]*)+\/?$|^\/$/;

/** `GET /ok` decides whether the server gets requests at all: it asks nothing of the agent. */
const PROBE = '/ok';

/** The beginning of the paths that a route of the app matches. */
export interface AppPath {
  /** Path without a slash at its end. */
  readonly path: string;
  /** True when nothing may follow. */
  readonly isWhole: boolean;
}

/** Result of the server's router for a request. */
export interface OwnRoute {
  readonly isFound: boolean;
  /** True when any client may call it. */
  readonly isOpen: boolean;
}

function isBelow(path: string, { path: one, isWhole }: AppPath): boolean {
  return isWhole ? path === one || path === `${one}/` : path.startsWith(one);
}

/**
 * Returns true when a request is for the app first.
 * @param paths paths that may reach the app; undefined: paths that the server has no route for
 * @param url path and query
 */
export function isForApp(
  paths: readonly AppPath[] | undefined,
  url: string,
  { isFound }: Pick<OwnRoute, 'isFound'>,
): boolean {
  const [path = ''] = url.split('?', 1);
  if (path === PROBE || !path.startsWith('/')) return false;
  if (paths === undefined) return !isFound;
  return !PLAIN_PATH.test(path) || paths.some((one) => isBelow(path, one));
}

/** Returns true when a request that is for the app first must be authenticated before. */
export function needsCaller(
  { authenticatesRoutes, isAuthFirst }: Pick<AppSettings, 'authenticatesRoutes' | 'isAuthFirst'>,
  { isFound, isOpen }: OwnRoute,
): boolean {
  return authenticatesRoutes || (isAuthFirst && isFound && !isOpen);
}

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
