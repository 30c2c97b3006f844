import { AuthRefusal } from './auth-user.js';

/**
 * Escapes of characters that are never reserved in addresses (RFC 3986, 2.3): letters, digits, `-`, `.`, `_`
 * and `~`.
 */
const NEEDLESS_ESCAPE = /%(?:2[DE]|3\d|[46][1-9A-F]|[57][0-9A]|5F|7E)/gi;

const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** `http://name:port` for a valid host; the rest is the path, from its first `/` on. */
export function baseOf(host = ''): string {
  const base = `http://${host}`;
  return /[@?#\\/]/.test(host) || !URL.canParse(base) ? 'http://localhost' : base;
}

/**
 * The address of a request as a handler judges it: that of the path which the server's router and an app
 * find. A leading `//` is a part of the path, and `%73tore` is `store`.
 * @param target path and query as they were sent
 * @throws AuthRefusal for a path that resolves to another one: with dot segments or backslashes, or for no
 *   path at all
 */
export function judgedAddress(host: string | undefined, target: string): string {
  const [path = ''] = target.split(/[?#]/, 1);
  if (!path.startsWith('/') || path.includes('\\') || path.split('/').some((part) => DOT_SEGMENT.test(part)))
    throw new AuthRefusal(
      400,
      'The path can be read in two ways; write it without dot segments and backslashes',
    );
  return baseOf(host) + path.replace(NEEDLESS_ESCAPE, decodeURIComponent) + target.slice(path.length);
}
