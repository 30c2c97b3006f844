/** Words of which paths are made. Ids and tokens have digits or upper-case letters, or are longer. */
const WORD = /^[a-z][a-z_.-]{0,23}$|^v\d{1,2}$|^$/;

/** Maximum number of segments, more than any route has. */
const MAX_SEGMENTS = 12;

/**
 * Shape of a path for log lines, without the query: segments that are not words become `*`. Paths may contain
 * secrets: tokens of shared traces, of hooks, and any data in an agent's own routes.
 */
export function pathShape(url: string): string {
  const segments = (url.split('?', 1)[0] ?? '').split('/');
  const shown = segments.slice(0, MAX_SEGMENTS).map((segment) => (WORD.test(segment) ? segment : '*'));
  return [...shown, ...(segments.length > MAX_SEGMENTS ? ['…'] : [])].join('/');
}
