/** Entries of the lock table that one backend holds. */
export interface LockHolder {
  readonly pid: number;
  /** Object id of its session's role. */
  readonly role: string;
  readonly locks: number;
}

export interface LockBudget {
  /** Locks of all backends of one role. */
  readonly perRole: number;
  /** Locks of all roles together: many roles, each within its own limit, must not fill the table either. */
  readonly all: number;
}

/**
 * The backends that have to end so that the rest is within the budget: always the largest one of the role
 * that holds most, so that a role loses only the excess and keeps its other connections.
 */
export function backendsToEnd(holders: readonly LockHolder[], budget: LockBudget): readonly LockHolder[] {
  const ended: LockHolder[] = [];
  const roles = new Map<string, { locks: number; readonly backends: LockHolder[] }>();
  let all = 0;
  for (const holder of holders.toSorted((a, b) => a.locks - b.locks)) {
    const role = roles.get(holder.role) ?? { locks: 0, backends: [] };
    roles.set(holder.role, role);
    role.locks += holder.locks;
    role.backends.push(holder);
    all += holder.locks;
  }
  for (;;) {
    const [first] = [...roles.values()].sort((a, b) => b.locks - a.locks);
    if (!first || (first.locks <= budget.perRole && all <= budget.all)) return ended;
    const largest = first.backends.pop();
    if (!largest) return ended;
    first.locks -= largest.locks;
    all -= largest.locks;
    ended.push(largest);
  }
}
