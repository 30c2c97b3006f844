import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';

/**
 * Remembers the process groups that it reads (`+ PID`, `- PID`), and ends them once nothing more can come: an agent in an
 * endless loop does not see that its parent was killed.
 */
const SCRIPT = `trap '' INT HUP TERM
groups=''
while read -r word group; do
  case $word in
    +) groups="$groups $group" ;;
    -) kept=''; for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done; groups=$kept ;;
  esac
done
[ -n "$groups" ] || exit 0
for one in $groups; do kill -s TERM -- "-$one"; done 2>/dev/null
sleep 3
for one in $groups; do kill -s KILL -- "-$one"; done 2>/dev/null
exit 0`;

/** Ends process groups after this process, however that ends. */
export class Guardian {
  readonly name = 'guardian';
  readonly #child: ChildProcess;

  constructor() {
    this.#child = spawn('/bin/sh', ['-c', SCRIPT], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#child.on('error', () => undefined); // without a shell the children watch for themselves
    this.#child.stdin?.on('error', () => undefined);
    this.#child.unref();
    if (this.#child.stdin instanceof Socket) this.#child.stdin.unref();
  }

  /** @param group number of a process group, the pid of its leader */
  watch(group: number): void {
    this.#child.stdin?.write(`+ ${group}\n`);
  }

  forget(group: number): void {
    this.#child.stdin?.write(`- ${group}\n`);
  }

  async stop(): Promise<void> {
    this.#child.stdin?.end();
  }
}
