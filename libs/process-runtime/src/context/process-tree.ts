/** A process, as `/proc/PID/stat` shows it. */
export interface TreeProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/** Processes of one moment by their parents and groups: looked through once, and asked for each container. */
export class ProcessTree {
  readonly #children = new Map<number, number[]>();
  readonly #groups = new Map<number, number[]>();

  add({ pid, parent, group }: TreeProcess): void {
    put(this.#children, parent, pid);
    put(this.#groups, group, pid);
  }

  /** The process, its group, and all that descend from one of them. */
  below(leader: number): ReadonlySet<number> {
    // a set also gives what is added while it is walked
    const found = new Set([leader, ...(this.#groups.get(leader) ?? [])]);
    for (const pid of found) for (const child of this.#children.get(pid) ?? []) found.add(child);
    return found;
  }
}

function put(lists: Map<number, number[]>, key: number, pid: number): void {
  const list = lists.get(key);
  if (list) list.push(pid);
  else lists.set(key, [pid]);
}
