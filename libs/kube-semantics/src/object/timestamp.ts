/** RFC 3339 with whole seconds, as Kubernetes writes times: `2026-01-02T03:04:05Z`. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
