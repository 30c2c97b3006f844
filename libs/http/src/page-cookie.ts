/** Cookie by which a browser reads pages of the platform. */
export const PAGE_COOKIE = 'agentplane_page';

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1);
  return name.trim();
}

/**
 * Values of the cookie, as many as others have set: browsers send those of a host to all of its ports, and those that a
 * sibling host has set for the domain.
 * @param header `Cookie` of a request
 */
export function pageCookies(header: string): readonly string[] {
  return header
    .split(';')
    .filter((pair) => nameOf(pair) === PAGE_COOKIE)
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
}

/**
 * The header without the cookie, for servers that run other people's code. A header without the cookie stays
 * as it came.
 * @returns undefined when nothing is left
 */
export function withoutPageCookie(header: string): string | undefined {
  const pairs = header.split(';');
  const kept = pairs.filter((pair) => nameOf(pair) !== PAGE_COOKIE);
  if (kept.length === pairs.length) return header;
  const left = kept.join(';').trimStart();
  return left === '' ? undefined : left;
}

/**
 * Matches the cookie as browsers read it: of a cookie without a name they send back the value alone, which
 * may look like a name and its value.
 */
const SETS_PAGE_COOKIE = new RegExp(`^[ \\t]*=?[ \\t]*${PAGE_COOKIE}[ \\t]*(?:[=;]|$)`);

/**
 * True when a server that runs other people's code would replace the cookie, or end it, in browsers that call
 * it.
 * @param name of a header of its answer
 */
export function setsPageCookie(name: string, value: string): boolean {
  return name.toLowerCase() === 'set-cookie' && SETS_PAGE_COOKIE.test(value);
}
