/**
 * Facts about a deployment's role beside its rights. They are stored as the comment of the role, which the
 * role itself cannot write (Postgres asks for CREATEROLE and the admin option), unlike a setting or the
 * comment of its database.
 */
export interface RoleNote {
  /** Most connections of the role, whatever its limit is at present: that is lowered while its workspace holds too much. */
  readonly connections: number;
  /** Workspace that groups roles; undefined: of its own. */
  readonly workspace?: string | undefined;
  /** It may not log in since it held too many locks. */
  readonly isSuspended: boolean;
}

const NOTE = /^Agentplane: (-?\d+) connections(?:, workspace (\w+))?(, suspended by the guard)?$/;

/** Undefined for a comment of a person, or none. */
export function parseRoleNote(comment: string | null | undefined): RoleNote | undefined {
  const found = NOTE.exec(comment ?? '');
  if (!found) return undefined;
  const [, connections, workspace, suspended] = found;
  return { connections: Number(connections), workspace, isSuspended: suspended !== undefined };
}

export function renderRoleNote({ connections, workspace, isSuspended }: RoleNote): string {
  return `Agentplane: ${connections} connections${workspace === undefined ? '' : `, workspace ${workspace}`}${isSuspended ? ', suspended by the guard' : ''}`;
}
