/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function kubeTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
