import { postgresTrouble } from './postgres-trouble.js';

/** True when the same statement may succeed a little later; it may also have been performed already. */
export function mayPass(error: unknown): boolean {
  const trouble = postgresTrouble(error);
  return trouble === 'unavailable' || trouble === 'conflict';
}
