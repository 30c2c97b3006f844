import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, realpathSync, rmSync, statSync, writeFileSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Users, EndedUser } from '../context/node-context.js';
import {
  MACHINE_FOLDER,
  nodeUser,
  ReservedUsers,
  type UserRange,
  foreignRanges,
  type PodUser,
} from '../user/pod-user.js';
import { COMPONENT, LABEL, type Pod } from '#lib/resources';
import { isAccountMounted } from '../account/is-account-mounted.js';
import { writeWhole } from '../pod-files/pod-files.js';
import { type EndedProcesses, endProcessesOf } from '../strays/user-processes.js';

/**
 * Numbers are never given back: one namespace gets this part of them at most, so that it cannot use up those of all. Where
 * there are few, it gets sixteen.
 */
const SHARE_OF_NAMESPACE = 1 / 4;
const LEAST_SHARE = 16;

interface Given {
  /**
   * `NAMESPACE@UID`, followed by `:DEPLOYMENT`, `:DEPLOYMENT:database` or `:DEPLOYMENT:builder` for pods of a deployment, of
   * its Postgres server and of its builds, and by `/ACCOUNT` for pods with the token of a service account → number.
   * Without `@UID` where the namespace could not be read, and in files of earlier versions.
   */
  readonly users: Readonly<Record<string, number>>;
}

/**
 * Gives every deployment a user of its own, its Postgres server and its builds others, and the other pods of a namespace
 * one together; pods that hold the token of a service account have one for each account. So an agent can read neither the environment
 * of another agent nor the token of the listener beside it. A namespace that was deleted and made again under its name is
 * another one: files and processes of the former may be left. Numbers are kept in `users.json`, because files outlive the
 * node, and reserved on the machine, because another installation must not give them; one that is of none of the ranges
 * or reserved by another installation counts as not given. No entry in `/etc/passwd` is needed; the group has the
 * user's number.
 */
export class PodUsers implements Users {
  readonly areOwn = true;
  readonly #file: string;
  readonly #podsFolder: string;
  readonly #ranges: readonly UserRange[];
  readonly #reserved: ReservedUsers;
  #users: Readonly<Record<string, number>>;

  /** @param ranges the first is used up first */
  constructor(folder: string, podsFolder: string, ranges: readonly UserRange[], reserved: ReservedUsers) {
    this.#file = join(folder, 'users.json');
    this.#podsFolder = podsFolder;
    this.#ranges = ranges;
    this.#reserved = reserved;
    this.#users = usable(readGiven(this.#file), ranges, reserved);
  }

  /** @throws Error when every number of the range is given, or the namespace has had its share */
  of(pod: Pod, namespaceUid: string | undefined): PodUser {
    const { namespace: name = '' } = pod.metadata;
    const namespace = namespaceUid === undefined ? name : `${name}@${namespaceUid}`;
    if (namespace !== name) this.#adopt(name, namespace);
    const owner = `${namespace}${ownerOf(pod)}`;
    const account = pod.spec.serviceAccountName ?? 'default';
    const key = isAccountMounted(pod) ? `${owner}/${account}` : owner;
    const uid = Object.hasOwn(this.#users, key) ? this.#users[key] : undefined;
    const number = uid ?? this.#give(key, namespace);
    return { uid: number, gid: number, isOwn: true };
  }

  endProcesses({ uid, ...ending }: EndedUser): Promise<EndedProcesses> {
    const uids = uid === undefined ? Object.values(this.#users) : [uid];
    return endProcessesOf({ ...ending, uids, podsFolder: this.#podsFolder, usersFile: this.#file });
  }

  /** Numbers of people and of their containers (`/etc/subuid`) are passed over, whatever the ranges say. */
  #findFree(): number | undefined {
    const taken = new Set(Object.values(this.#users));
    const foreign = foreignRanges();
    for (const { first, last } of this.#ranges)
      for (let uid = first; uid <= last; uid++) {
        const owner = foreign.find((range) => range.first <= uid && uid <= range.last);
        if (owner) uid = owner.last;
        else if (!taken.has(uid) && this.#reserved.take(uid)) return uid;
      }
    return undefined;
  }

  /** Numbers of a time when only the name was known belong to the namespace that has it now. */
  #adopt(name: string, namespace: string): void {
    const isOfName = (key: string): boolean => namespaceOf(key) === name;
    if (!Object.keys(this.#users).some(isOfName)) return;
    const entries = Object.entries(this.#users).map(([key, uid]) => [
      isOfName(key) ? `${namespace}${key.slice(name.length)}` : key,
      uid,
    ]);
    this.#write(Object.fromEntries(entries) as Given['users']);
  }

  #give(key: string, namespace: string): number {
    const had = Object.keys(this.#users).filter((one) => namespaceOf(one) === namespace).length;
    if (had >= this.#shareOfNamespace())
      throw new Error(
        `no user is left for pods of ${shown(key)}: ${had} deployments and service accounts of ${shown(namespace)} have had ` +
          'one, the limit of a namespace; use the name of a former one, or add a range to AGENTPLANE_POD_USERS and restart',
      );
    const uid = this.#findFree();
    if (uid === undefined)
      throw new Error(
        `no user is left for pods of ${shown(key)}: all of ${rangesText(this.#ranges)} are given or belong to others; ` +
          'add a range to AGENTPLANE_POD_USERS and restart',
      );
    this.#write({ ...this.#users, [key]: uid });
    return uid;
  }

  #shareOfNamespace(): number {
    const count = this.#ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
    return Math.max(LEAST_SHARE, count * SHARE_OF_NAMESPACE);
  }

  #write(users: Given['users']): void {
    writeWhole(this.#file, `${JSON.stringify({ users } satisfies Given, undefined, 2)}\n`);
    this.#users = users;
  }
}

/**
 * The end of the key of a pod: empty unless the pod is one of a deployment. Labels decide, since only those who may make
 * pods in the namespace can set them, and these can mount every Secret of it.
 */
function ownerOf({ metadata: { labels = {} } }: Pod): string {
  const { [LABEL.deployment]: deployment, [LABEL.databaseOf]: databaseOf, [LABEL.component]: part } = labels;
  if (databaseOf !== undefined) return `:${databaseOf}:database`;
  if (deployment === undefined) return '';
  return part === COMPONENT.builder ? `:${deployment}:builder` : `:${deployment}`;
}

/** The part of a key before the deployment or the account. */
function namespaceOf(key: string): string {
  return key.replace(/[:/].*/, '');
}

/**
 * Users that this node would assign. A number from other ranges, or one that the machine or another
 * installation has assigned since, is not used again: the file may come from another machine or from a backup
 * that others wrote, and name root.
 */
function usable(
  users: Given['users'],
  ranges: readonly UserRange[],
  reserved: ReservedUsers,
): Given['users'] {
  const foreign = foreignRanges();
  const isIn = (uid: number, { first, last }: UserRange): boolean => first <= uid && uid <= last;
  return Object.fromEntries(
    Object.entries(users).filter(
      ([, uid]) =>
        Number.isSafeInteger(uid) &&
        ranges.some((range) => isIn(uid, range)) &&
        !foreign.some((range) => isIn(uid, range)) &&
        reserved.take(uid),
    ),
  );
}

/** The name without the uid of the namespace. */
function shown(key: string): string {
  return key.replace(/@[^:/]*/, '');
}

function rangesText(ranges: readonly UserRange[]): string {
  return ranges.map(({ first, last }) => `${first}-${last}`).join(',');
}

function readGiven(file: string): Given['users'] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  try {
    return (JSON.parse(text) as Given).users;
  } catch {
    throw new Error(
      `${file} is not JSON: restore it; without it, files of one workspace could become another's`,
    );
  }
}

/**
 * The part of the path that keeps out a user who owns nothing on the way, the deepest first; undefined when such a user may
 * read the file or folder.
 */
function closedPart(path: string): string | undefined {
  const found = statSync(path);
  const needed = found.isDirectory() ? 0o001 : 0o004;
  if ((found.mode & needed) === 0) return path;
  const above = dirname(path);
  return above === path ? undefined : closedPart(above);
}

function asNode(problem?: string): Users {
  const endProcesses: Users['endProcesses'] = () => Promise.resolve({ ended: 0, unasked: [] });
  return { areOwn: false, of: nodeUser, endProcesses, problem };
}

export interface UserOptions {
  /** Used up in this order, those that the machine has. None: pods run as the node's own user. */
  readonly ranges: readonly UserRange[];
  /** The programs of this installation, which every pod must be able to read. */
  readonly programs: readonly string[];
  /** Folder in which installations of this machine reserve numbers. Default `/var/lib/agentplane/users`. */
  readonly reservedIn?: string;
}

/**
 * Users of their own for pods where this process is root. Where a pod could not reach the programs or its own folder (an
 * installation below /root), it runs as root as ever; the log and `problem` say what is in the way.
 */
export function chooseUsers(
  { ranges, programs, reservedIn = MACHINE_FOLDER }: UserOptions,
  { folder, podsFolder, log }: { readonly folder: string; readonly podsFolder: string; readonly log: Logger },
): Users {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return asNode();
  if (ranges.length === 0) return asNode('users of their own are switched off by AGENTPLANE_POD_USERS=none');
  for (const path of [folder, podsFolder]) chmodSync(path, 0o711);
  // a container may know the small numbers alone
  const problems = ranges.map((range) => problemOf(range, folder));
  const usable = ranges.filter((_, at) => problems[at] === undefined);
  if (usable.length === 0) {
    log.warn(
      { problems, ranges },
      'pods run as root: this machine gives processes no such users; set AGENTPLANE_POD_USERS to numbers that it has',
    );
    return asNode(
      `processes cannot become users of AGENTPLANE_POD_USERS (${problems[0]}); set it to numbers that the machine has`,
    );
  }
  for (const path of [process.execPath, ...programs, podsFolder]) {
    const closed = closedPart(realpathSync(path));
    if (closed === undefined) continue;
    log.warn(
      { closed, needed: path },
      'pods run as root: users of their own cannot pass this folder; install Agentplane and its data folder outside of it',
    );
    return asNode(
      `users of their own cannot pass ${closed}; install Agentplane and its data folder outside of it`,
    );
  }
  return new PodUsers(folder, podsFolder, usable, reservations(realpathSync(folder), reservedIn, log));
}

/** The reservations of this machine; of this installation alone where the machine's folder cannot be written. */
function reservations(folder: string, reservedIn: string, log: Logger): ReservedUsers {
  try {
    return new ReservedUsers(folder, reservedIn);
  } catch (error) {
    log.warn(
      { folder: reservedIn, error: errorText(error) },
      'reserving numbers of users on this machine failed; another installation of root may give its pods the same ones',
    );
    return new ReservedUsers(folder, join(folder, 'reserved-users'));
  }
}

/** Root of a container may lack the right to become others, or know fewer numbers than the machine. */
function problemOf({ first, last }: UserRange, folder: string): string | undefined {
  const probe = join(folder, 'users.probe');
  try {
    for (const uid of [first, last]) {
      writeFileSync(probe, '');
      chownSync(probe, uid, uid);
      rmSync(probe);
      const { error } = spawnSync('/bin/sh', ['-c', 'exit 0'], { uid, gid: uid, cwd: '/', stdio: 'ignore' });
      if (error) return error.message;
    }
    return undefined;
  } catch (error) {
    return errorText(error);
  } finally {
    rmSync(probe, { force: true });
  }
}
