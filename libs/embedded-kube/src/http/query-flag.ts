/** Reads a boolean of the query as Kubernetes does: any value but `false` and `0` is true. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}
