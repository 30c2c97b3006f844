import { randomUUID } from 'node:crypto';
import { linkSync, lstatSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isRunning, ownIdentity, type ProcessIdentity } from '#lib/process-identity';
import { type PlatformCredentials, readCredentials, readJson } from './credentials.js';

/** Every path of a data folder. */
export interface DataPaths {
  readonly root: string;
  readonly credentials: string;
  readonly kubeconfig: string;
  readonly ports: string;
  readonly secrets: string;
  /** Users of the embedded object store, in `secrets`. */
  readonly storeUsers: string;
  /** The platform's own certificate and key, in `secrets`. */
  readonly tlsCertificate: string;
  readonly tlsKey: string;
  readonly objects: string;
  readonly images: string;
  readonly node: string;
  readonly kube: string;
  readonly logs: string;
  readonly children: string;
}

/** The paths, without touching anything. */
export function dataPaths(folder: string): DataPaths {
  const root = resolve(folder);
  return {
    root,
    credentials: join(root, 'credentials.json'),
    kubeconfig: join(root, 'kubeconfig'),
    ports: join(root, 'ports.json'),
    secrets: join(root, 'secrets'),
    storeUsers: join(root, 'secrets', 'object-store.json'),
    tlsCertificate: join(root, 'secrets', 'tls-certificate.pem'),
    tlsKey: join(root, 'secrets', 'tls-key.pem'),
    objects: join(root, 'objects'),
    images: join(root, 'images'),
    node: join(root, 'node'),
    kube: join(root, 'kube'),
    logs: join(root, 'logs'),
    children: join(root, 'children.json'),
  };
}

export interface Lock {
  release(): void;
}

/** Holder of a lock. */
export interface LockOwner extends ProcessIdentity {
  /** The command that took it, where others need to know. */
  readonly command?: string;
}

/** The process that holds the lock and still runs. */
function findLockOwner(path: string): LockOwner | undefined {
  const owner = readJson<LockOwner>(path);
  return owner && isRunning(owner) ? owner : undefined;
}

/**
 * One owner at a time. The file names the owner's pid and start time, so that a lock left by a killed process is recognised
 * even after its pid was given to another process.
 * @param taken the message for when the owner still runs
 * @param command written beside the owner
 * @throws Error with that message
 */
export function takeLock(path: string, taken: (owner: ProcessIdentity) => string, command?: string): Lock {
  const own = ownIdentity();
  const draft = `${path}.${own.pid}`;
  writeFileSync(draft, JSON.stringify({ ...own, command }), { mode: 0o600 });
  try {
    for (let tries = 0; tries < 3; tries++) {
      if (tryLink(draft, path)) return { release: () => releaseOwn(path, own) };
      const owner = findLockOwner(path);
      if (owner) throw new Error(taken(owner));
      rmSync(path, { force: true });
    }
    throw new Error(`${path} cannot be locked: another process is starting; try again`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Linking fails when the name exists, and is atomic on every file system that matters. */
function tryLink(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function releaseOwn(path: string, own: ProcessIdentity): void {
  const owner = readJson<ProcessIdentity>(path);
  if (owner?.pid === own.pid && owner.startedAt === own.startedAt) unlinkSync(path);
}

/** A platform that runs over a data folder. */
export interface RunningPlatform {
  /** Its data folder, as an absolute path. */
  readonly root: string;
  readonly supervisorPid: number;
  readonly credentials: PlatformCredentials;
}

/** The command that `agentplane up` writes into its lock. */
export const UP_LOCK = 'up';

/** Files of a data folder by which commands act. */
const ACTED_BY = ['lock', 'format.json', 'credentials.json', 'kubeconfig', 'images'];

/**
 * Refuses the data folder of another user. Commands run programs that it names (exec plugins of its kubeconfig), and where
 * none is named they take the one of the current folder, in which an agent may have made it: `/tmp`.
 * @throws Error
 */
export function requireOwnFolder(root: string): void {
  const own = process.geteuid?.();
  if (own === undefined) return;
  for (const path of ACTED_BY.map((name) => join(root, name))) {
    const uid = lstatSync(path, { throwIfNoEntry: false })?.uid;
    if (uid !== undefined && uid !== own && uid !== ownerOfNew(root))
      throw new Error(
        `${path} belongs to the user ${uid}, and this is the user ${own}: act as that user, or name another data folder with --data`,
      );
  }
}

/** The user that a file of this process has in a folder: some file systems show another one. */
function ownerOfNew(root: string): number | undefined {
  const path = join(root, `.owner-${randomUUID()}`);
  try {
    writeFileSync(path, '', { flag: 'wx' });
    return lstatSync(path).uid;
  } catch {
    return undefined;
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * The process that owns this data folder: a platform, also one that still starts, or a backup or restore.
 * @throws Error for the folder of another user
 */
export function findOwner(data: string): LockOwner | undefined {
  const { root } = dataPaths(data);
  requireOwnFolder(root);
  return findLockOwner(join(root, 'lock'));
}

/** The platform over this data folder, or undefined when none runs. @throws Error for the folder of another user */
export function findRunningPlatform(data: string): RunningPlatform | undefined {
  const { root, credentials: path } = dataPaths(data);
  const owner = findOwner(data);
  const credentials = readCredentials(path);
  if (!credentials || !owner) return undefined;
  return { root, supervisorPid: owner.pid, credentials };
}

/** The message for when none runs. */
export function nothingRuns(data: string): string {
  return `no platform runs over the data folder ${dataPaths(data).root}; start one with "agentplane up" (in a checkout also "npm start"), or name another with --data\n`;
}
