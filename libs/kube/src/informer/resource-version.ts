/**
 * Order of two resource versions. They are numbers of up to 64 bits in every API server there is, and comparable by
 * contract since Kubernetes 1.35. Without a zero in front the longer one is the greater, so no BigInt is needed.
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
