import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ProcessUser } from '../pod-fields/pod-fields.js';

/** Numbers of users that belong to no other user of the machine; both ends are included. */
export interface UserRange {
  readonly first: number;
  readonly last: number;
}

/** Numbers that the machine has given already: its users, and what these may give to their containers. */
export function foreignRanges(passwd = '/etc/passwd', subuid = '/etc/subuid'): readonly UserRange[] {
  const users = fieldsOf(passwd).map(([, , uid]) => ({ first: Number(uid), last: Number(uid) }));
  const containers = fieldsOf(subuid).map(([, start, count]) => ({
    first: Number(start),
    last: Number(start) + Number(count) - 1,
  }));
  return [...users, ...containers].filter(({ first, last }) => first <= last);
}

function fieldsOf(file: string): string[][] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(':'));
  } catch {
    return []; // a machine without such a file gives none
  }
}

/** Numbers of users that the installations of this machine have taken for their pods: a file each, with the owner's folder. */
export const MACHINE_FOLDER = '/var/lib/agentplane/users';

/**
 * Reserves numbers of users on the machine: two installations that gave the same number would let agents of the one read
 * environment and memory of the other's. A reservation lasts as long as the folder of its owner.
 */
export class ReservedUsers {
  readonly #folder: string;
  readonly #owner: string;

  /**
   * @param owner folder of the node, an absolute path
   * @throws Error when the folder cannot be made
   */
  constructor(owner: string, folder: string) {
    // folders above it are passed through by others, such as the user of Postgres
    mkdirSync(dirname(folder), { recursive: true, mode: 0o755 });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#folder = folder;
    this.#owner = owner;
  }

  /** @returns false where the number belongs to another installation */
  take(uid: number): boolean {
    const file = join(this.#folder, String(uid));
    if (this.#create(file)) return true;
    const owner = readOwner(file);
    if (owner === this.#owner) return true;
    if (owner !== undefined && existsSync(owner)) return false;
    return removeStale(file, owner) && this.#create(file);
  }

  #create(file: string): boolean {
    try {
      writeFileSync(file, this.#owner, { flag: 'wx', mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }
}

function readOwner(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Another node may remove and take the same reservation at this moment: its new one is put back. */
function removeStale(file: string, owner: string | undefined): boolean {
  if (owner === undefined) return true;
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    const isStale = readFileSync(aside, 'utf8') === owner;
    if (!isStale) linkSync(aside, file);
    return isStale;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** User of one pod's processes: a user of their own, or that of the node itself. */
export type PodUser =
  | { readonly isOwn: true; readonly uid: number; readonly gid: number }
  | (ProcessUser & { readonly isOwn: false });

/** The user of this process. */
export function nodeUser(): PodUser {
  return { uid: process.getuid?.(), gid: process.getgid?.(), isOwn: false };
}
