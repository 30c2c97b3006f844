/** Whether a client has what it asks for: `If-None-Match` names this tag. */
export function hasTag(header: string | undefined, etag: string): boolean {
  return (header ?? '')
    .split(',')
    .some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}
