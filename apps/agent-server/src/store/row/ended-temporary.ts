/**
 * What becomes of the row `r` of a run without a thread that has ended while its output may still be read: it stays for a
 * while, without its input. The arguments are SQL.
 */
export function endedTemporary(status: string, error: string, isResumable: string): string {
  return `status = ${status}, error = ${error}, lease_until = NULL, ended_at = clock_timestamp(),
    updated_at = clock_timestamp(), kwargs = json_build_object('resumable', ${isResumable})`;
}
