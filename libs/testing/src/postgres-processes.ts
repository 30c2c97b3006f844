import { readFile } from 'node:fs/promises';

interface Queryable {
  query(text: string): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The processes of an own server of a test. */
export interface PostgresProcesses {
  /** Sends each of them a signal. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
}

/**
 * Processes of the server that answers. Sessions that begin later are not among them, but a postmaster that is stopped makes
 * none.
 */
export async function postgresProcesses(database: Queryable): Promise<PostgresProcesses> {
  const { rows } = await database.query('SELECT pg_backend_pid() AS pid');
  const { pid } = rows[0] as { readonly pid: number };
  const postmaster = Number(/^PPid:\s*(\d+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8');
  const pids = [postmaster, ...children.trim().split(' ').map(Number)];
  return {
    signal(name) {
      for (const one of pids) {
        try {
          process.kill(one, name);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // its session has ended
        }
      }
    },
  };
}
