import { sendSignal } from '#lib/process-identity';
import { backendsOf } from './backend-titles.js';

/** What a backend's process calls itself: `postgres: ROLE DATABASE ADDRESS(PORT) ACTIVITY`. */
const BACKEND = /^postgres: (\S+) .*\(\d+\)( |$)/;

/**
 * Ends the backends of guests from outside, by the titles of their processes: the way in when the server has no room for
 * one more session.
 * @param hosts names of the roles that stay
 * @returns how many were ended
 */
export function endGuests(postmaster: number, hosts: readonly string[]): number {
  const guests = backendsOf(postmaster).filter(({ title }) => {
    const role = BACKEND.exec(title)?.[1];
    return role !== undefined && !hosts.includes(role);
  });
  for (const { pid } of guests) sendSignal(pid, 'SIGTERM', false);
  return guests.length;
}
