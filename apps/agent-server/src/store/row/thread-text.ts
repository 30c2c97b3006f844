function wireTime(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/**
 * A thread `t` as JSON text, as the wire shows it. Documents stay as they are kept: neither the driver nor the server
 * parses them and prints them again.
 */
export const THREAD_TEXT = `concat(
  '{"thread_id":"', t.thread_id, '","created_at":"', ${wireTime('t.created_at')},
  '","updated_at":"', ${wireTime('t.updated_at')}, '","state_updated_at":"', ${wireTime('t.state_updated_at')},
  '","metadata":', t.metadata, ',"status":"', t.status, '","config":', t.config,
  ',"values":', coalesce(t.values::text, 'null'), ',"interrupts":', t.interrupts,
  ',"error":', coalesce(t.error::text, 'null'), '}')`;
