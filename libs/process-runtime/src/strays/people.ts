import { textOf } from './process-status.js';

/** Numbers of the users that the machine has by name. */
export function usersOfPeople(): ReadonlySet<number> {
  return new Set(
    textOf('/etc/passwd')
      .split('\n')
      .map((line) => Number(line.split(':')[2])),
  );
}
