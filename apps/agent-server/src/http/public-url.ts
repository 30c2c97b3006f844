import type { IncomingHttpHeaders } from 'node:http';

export interface PublicUrlSettings {
  /** Where clients call the server; wins over everything else. */
  readonly publicUrl: string | undefined;
  /** Where the Service of the deployment is called; the last resort. */
  readonly serviceUrl: string | undefined;
  /** Requests come through a proxy that sets `x-forwarded-proto`, `-host` and `-prefix` itself. */
  readonly trustsForwarded: boolean;
  /** Before every path of the server; proxies and settings do not know it. */
  readonly mountPrefix: string;
}

/** `localhost:8000`, `127.0.0.1:8000`, `[::1]:8000`. */
const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i;
/** A name or an address with a port, and nothing that would end it. */
const HOST = /^[a-z0-9.[\]:_-]{1,255}$/i;
const PREFIX = /^(\/[\w.~-]+)*$/;

/** The first of a list, as several proxies write it. */
function first(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).split(',', 1)[0]?.trim() ?? '';
}

function forwardedUrl(headers: IncomingHttpHeaders): string | undefined {
  const host = first(headers['x-forwarded-host']);
  const scheme = first(headers['x-forwarded-proto']).toLowerCase() || 'http';
  const prefix = first(headers['x-forwarded-prefix']).replace(/(?<!\/)\/+$/, '');
  const isFine = HOST.test(host) && (scheme === 'http' || scheme === 'https') && PREFIX.test(prefix);
  return isFine ? `${scheme}://${host}${prefix}` : undefined;
}

/**
 * Where clients call this server, without a slash at the end; undefined where nobody says so whose word counts. `Host` is
 * the client's word: it is taken where it names this machine, as nobody elsewhere can be led astray by it. Within a cluster
 * clients reach the Service.
 */
export function publicUrlOf(headers: IncomingHttpHeaders, settings: PublicUrlSettings): string | undefined {
  const found =
    toldUrlOf(headers, settings) ?? (settings.serviceUrl?.replace(/(?<!\/)\/+$/, '') || undefined);
  return found && mounted(found, settings);
}

type Told = Omit<PublicUrlSettings, 'serviceUrl'>;

/**
 * Where the page that sent this request calls the server, and nobody else: its own `Host` counts then, in the scheme of the
 * page. Undefined for a `Host` that is none.
 */
export function pageUrlOf(headers: IncomingHttpHeaders, settings: Told): string | undefined {
  const { host = '' } = headers;
  const found = toldUrlOf(headers, settings) ?? (HOST.test(host) ? `//${host}` : undefined);
  return found && mounted(found, settings);
}

function mounted(url: string, { mountPrefix }: Told): string {
  return url.endsWith(mountPrefix) ? url : url + mountPrefix;
}

function toldUrlOf(headers: IncomingHttpHeaders, settings: Told): string | undefined {
  if (settings.publicUrl) return settings.publicUrl.replace(/(?<!\/)\/+$/, '');
  const forwarded = settings.trustsForwarded ? forwardedUrl(headers) : undefined;
  if (forwarded) return forwarded;
  const { host = '' } = headers;
  return LOOPBACK.test(host) ? `http://${host}` : undefined;
}
