import { spawnSync } from 'node:child_process';
import type { Inheritance } from '#lib/held-sockets';
import type { PodUser } from './pod-user.js';

/**
 * Makes the files of one container, in a mount namespace of its own, and becomes its program. Run by
 * `unshare` as the pod's user, who is root in its own user namespace only: nothing in it has more rights than
 * the program has. The entries of a mirrored folder are bound; files written beside them are in memory that
 * no limit counts, so the space is small. Words: stage, uid, gid, working folder, then three for each step,
 * `--`, command.
 */
const MOUNT_SCRIPT = `
set -eu
own_path=$PATH; PATH=/usr/sbin:/usr/bin:/sbin:/bin
stage=$1 uid=$2 gid=$3 folder=$4; shift 4
enter() {
  if [ -L "$1" ]; then cp -P -- "$1" "$2"
  elif [ -d "$1" ]; then mkdir -p -- "$2"; mount --rbind "$1" "$2"
  else [ -e "$2" ] || : > "$2"; mount --bind "$1" "$2"; fi
}
while [ "$1" != -- ]; do
  step=$1 one=$2 two=$3; shift 3
  case $step in
    mirror)
      mount -t tmpfs -o mode=755,size=8m,nr_inodes=64k none "$stage$one"
      for entry in "$one"/* "$one"/.[!.]* "$one"/..?*; do
        entry=/\${entry#\${entry%%[!/]*}}
        if [ -e "$entry" ] || [ -L "$entry" ]; then enter "$entry" "$stage$entry" 2>/dev/null || :; fi
      done ;;
    folder) mkdir -p -- "$stage$one" ;;
    bind) enter "$one" "$stage$two" ;;
    bind-made) [ -e "$one" ] || mkdir -p -- "$one"; enter "$one" "$stage$two" ;;
    memory) mkdir -p -- "$stage$one"; mount -t tmpfs -o mode=1777,size=64m,nr_inodes=4k none "$stage$one" ;;
    read-only) mount -o remount,bind,ro "$stage$one" ;;
  esac
done
shift
unshare=$(command -v unshare)
PATH=$own_path
exec "$unshare" --user --map-user="$uid" --map-group="$gid" --root="$stage" --wd="$folder" -- "$@"
`;

/** The words before `MOUNT_SCRIPT`'s own. */
export function mountCommand(unshare: string): readonly string[] {
  const namespaces = ['--user', '--map-root-user', '--mount', '--propagation', 'private'];
  return [unshare, ...namespaces, '--', '/bin/sh', '-c', MOUNT_SCRIPT, 'agentplane-mounts'];
}

/**
 * Reason why processes of this machine can have no mounts of their own; undefined when they can.
 * @param stage an empty folder that the user can reach
 * @param uid of a pod; undefined: that of this process
 */
export function findMountProblem(
  unshare: string | undefined,
  stage: string,
  uid?: number,
): string | undefined {
  if (process.platform !== 'linux') return 'only Linux has mount namespaces';
  if (unshare === undefined) return 'the command unshare of util-linux is missing';
  const id = String(uid ?? process.getuid?.() ?? 0);
  const [command = '', ...args] = mountCommand(unshare);
  const { status, error, stderr } = spawnSync(
    command,
    [...args, stage, id, id, '/', 'mirror', '/', '-', '--', 'true'],
    {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      encoding: 'utf8',
      timeout: 10_000,
      ...(uid === undefined ? {} : { uid, gid: uid }),
    },
  );
  if (status === 0) return undefined;
  return error?.message ?? (stderr.trim().split('\n').at(-1) || `unshare ended with ${String(status)}`);
}

/** Descriptors before it are the standard streams and the channel to the node. */
export const FIRST_SOCKET = 4;

/** Mounts that only one process sees. */
export interface Mounts {
  /** An empty folder of the pod, on which its root is made. */
  readonly stage: string;
  /** Words of `MOUNT_SCRIPT`. */
  readonly steps: readonly string[];
}

/** Program to start. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** The spec names the folder; else it is one that only the node can change. */
  readonly isFolderNamed: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: PodUser;
  /** No file that it executes may give it more rights. */
  readonly noNewPrivileges: boolean;
  /** Sockets that the node holds for it, as descriptors from `FIRST_SOCKET`. */
  readonly sockets: Inheritance['stdio'];
  readonly mounts?: Mounts | undefined;
  /** True for a program that can be loaded before it gets the rest. */
  readonly isSparable?: boolean;
}
