import { execFileSync } from 'node:child_process';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  /** Resident memory in megabytes. */
  readonly memoryMb: number;
}

/** Every process of this machine, by `ps`. */
export function listProcesses(): Process[] {
  return execFileSync('ps', ['-eo', 'pid=,ppid=,rss=,args='], { encoding: 'utf8', maxBuffer: 16 << 20 })
    .split('\n')
    .flatMap((line) => {
      const found = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line);
      if (!found) return [];
      const [, pid, parent, rss, command] = found;
      return [
        { pid: Number(pid), parent: Number(parent), memoryMb: Number(rss) / 1024, command: command ?? '' },
      ];
    });
}

/** The processes below `root`, itself excluded. */
export function descendants(root: number): Process[] {
  const all = listProcesses();
  const below: Process[] = [];
  const queue = [root];
  for (let parent = queue.shift(); parent !== undefined; parent = queue.shift())
    for (const process of all)
      if (process.parent === parent) {
        below.push(process);
        queue.push(process.pid);
      }
  return below;
}

/** The processes of one program (`controller`, `listener`, …) below `root`. */
export function programsBelow(root: number, program: string): Process[] {
  return descendants(root).filter((process) => process.command.includes(`apps/${program}/src/main.js`));
}

/** SIGKILL; whether there was somebody to kill. */
export function killProgram(root: number, program: string): boolean {
  const found = programsBelow(root, program);
  for (const { pid } of found)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // gone already: between the listing and now
    }
  return found.length > 0;
}
