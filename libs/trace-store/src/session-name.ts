/** Name of the sessions of a trace store in `pg_stat_activity`, so that a program can be told from others. */
export function sessionName(program: string | undefined): string {
  return program === undefined ? 'agentplane trace store' : `agentplane trace store of ${program}`;
}
