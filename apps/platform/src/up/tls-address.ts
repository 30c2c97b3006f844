import { urlHost } from '#lib/url';
import { reachableAddresses } from '../preparation/reachable-addresses.js';

const ALL = ['0.0.0.0', '::'];

/**
 * The host by which other machines reach the platform: that of its public URL, else the address that it listens on, else
 * the first address of this machine that others can reach.
 */
export function hostForOthers(listensOn: string, publicUrl: string | undefined): string {
  if (publicUrl !== undefined && URL.canParse(publicUrl))
    return new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
  if (!ALL.includes(listensOn)) return listensOn;
  return reachableAddresses().find(({ internal }) => !internal)?.address ?? '127.0.0.1';
}

/** `https://HOST:PORT`. */
export function tlsUrl(host: string, port: number): string {
  return `https://${urlHost(host)}:${port}`;
}
