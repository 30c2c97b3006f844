/** RFC 3339 with microseconds, as leases carry it. */
export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
