import { sendSignal } from '#lib/process-identity';
import { backendsOf } from './backend-titles.js';

/** Title of a backend's process: `postgres: ROLE DATABASE ADDRESS(PORT) ACTIVITY`. */
const BACKEND = /^postgres: (\S+) .*\(\d+\)( |$)/;

/**
 * Ends the backends of tenant roles from outside, by the titles of their processes: this works when the
 * server cannot take one more session.
 * @param hosts names of the roles that stay
 * @returns the number of ended backends
 */
export function endGuests(postmaster: number, hosts: readonly string[]): number {
  const guests = backendsOf(postmaster).filter(({ title }) => {
    const role = BACKEND.exec(title)?.[1];
    return role !== undefined && !hosts.includes(role);
  });
  for (const { pid } of guests) sendSignal(pid, 'SIGTERM', false);
  return guests.length;
}
