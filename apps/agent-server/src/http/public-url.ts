import type { IncomingHttpHeaders } from 'node:http';

export interface PublicUrlSettings {
  /** Address of the server for clients; wins over everything else. */
  readonly publicUrl: string | undefined;
  /** Address of the deployment's Service; the last resort. */
  readonly serviceUrl: string | undefined;
  /** Requests come through a proxy that sets `x-forwarded-proto`, `-host` and `-prefix` itself. */
  readonly trustsForwarded: boolean;
  /** Prefix of every path of the server; proxies and settings do not know it. */
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
 * Address of this server for clients, without a slash at the end; undefined when no trusted source names it.
 * The client chooses `Host`: it is accepted only when it names this machine, since that misleads no client
 * elsewhere. Within a cluster clients reach the Service.
 */
export function publicUrlOf(headers: IncomingHttpHeaders, settings: PublicUrlSettings): string | undefined {
  const found =
    toldUrlOf(headers, settings) ?? (settings.serviceUrl?.replace(/(?<!\/)\/+$/, '') || undefined);
  return found && mounted(found, settings);
}

type Told = Omit<PublicUrlSettings, 'serviceUrl'>;

/**
 * Address of the server for the page that sent this request, and for no other client: its own `Host` counts
 * then, in the scheme of the page. Undefined for an invalid `Host`.
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
