/** Returns true when the client has the current version: `If-None-Match` names this tag. */
export function hasTag(header: string | undefined, etag: string): boolean {
  return (header ?? '')
    .split(',')
    .some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}
