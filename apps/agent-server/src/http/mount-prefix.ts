/** No route has this path. */
const OUTSIDE = '/-/outside-the-mount-prefix';

/** Probes of platforms know no prefix. */
const PROBE = /^\/ok(\?|$)/;

/** Requests to a proxy name the server in their first line; a router takes that off as well. */
const AUTHORITY = /^https?:\/\/[^/?#]*/i;

/**
 * Address of a request without the prefix under which the server is mounted. The prefix is compared byte by
 * byte: other spellings of it (`//`, `%2f`, `..`) lead to no route. The rest is left to the router alone, so
 * that the route that is found is the one whose access is checked.
 */
export function withoutPrefix(url: string, prefix: string): string {
  const path = url.replace(AUTHORITY, '');
  const isProbe = PROBE.test(path);
  if (!isProbe && !path.startsWith(prefix)) return OUTSIDE;
  const rest = isProbe ? path : path.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : OUTSIDE;
}
