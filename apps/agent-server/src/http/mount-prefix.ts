/** No route has this path. */
const OUTSIDE = '/-/outside-the-mount-prefix';

/** Probes of platforms know no prefix. */
const PROBE = /^\/ok(\?|$)/;

/**
 * The address of a request without the prefix under which the server is mounted. The prefix is compared as it stands, byte
 * by byte: other spellings of it (`//`, `%2f`, `..`) lead to no route. What follows is left to the router alone, so that
 * the route that is found is the one whose access is checked.
 */
export function withoutPrefix(url: string, prefix: string): string {
  if (prefix === '' || PROBE.test(url)) return url;
  if (!url.startsWith(prefix)) return OUTSIDE;
  const rest = url.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : OUTSIDE;
}
