/** The value of an ETag header without quotation marks; empty without a header. */
export function plainEtag(header: string | undefined): string {
  return (header ?? '').replace(/^W\/|"/g, '');
}
