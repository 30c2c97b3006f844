import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** An account of the machine that is not root. */
export interface OsUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The account that the server must run as: Postgres refuses to run as root, so for root it is `postgres` where that
 * account exists, else `nobody`. `undefined` when this process is not root: then the server is this process's user.
 */
export function serverUser(): OsUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const wanted of ['postgres', 'nobody']) {
    const found = accounts.find(([name]) => name === wanted);
    if (found) return { name: wanted, uid: Number(found[2]), gid: Number(found[3]) };
  }
  throw new Error(
    'Postgres cannot run as root, and neither user "postgres" nor user "nobody" exists; create one of them',
  );
}

/** True when the account may read and pass through everything on the way to `path`. */
export function canReach(user: OsUser, path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    const { mode, uid, gid } = statSync(at);
    const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
    if (((mode >> shift) & 0o5) !== 0o5) return false;
    if (at === dirname(at)) return true;
  }
}
