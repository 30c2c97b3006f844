import { readFileSync } from 'node:fs';

/** Numbers of users that belong to no other user of the machine; both ends are included. */
export interface UserRange {
  readonly first: number;
  readonly last: number;
}

/** Numbers that the machine has given already: its users, and what these may give to their containers. */
export function foreignRanges(passwd = '/etc/passwd', subuid = '/etc/subuid'): readonly UserRange[] {
  const users = fieldsOf(passwd).map(([, , uid]) => ({ first: Number(uid), last: Number(uid) }));
  const containers = fieldsOf(subuid).map(([, start, count]) => ({
    first: Number(start),
    last: Number(start) + Number(count) - 1,
  }));
  return [...users, ...containers].filter(({ first, last }) => first <= last);
}

function fieldsOf(file: string): string[][] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(':'));
  } catch {
    return []; // a machine without such a file gives none
  }
}
