import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { readJson, writeJson } from '#lib/data-folder';
import { jsonEquals } from '#lib/json';
import type { StoreGrant, StoreUser, StoreUsers } from './store-user.js';

interface NamedUser extends StoreUser {
  /** Purpose of the user; one user for a name. */
  readonly name: string;
}

interface Content {
  readonly users: readonly NamedUser[];
  /** Former access keys that open nothing any more, but may still be in Secrets. */
  readonly retired: readonly string[];
}

const EMPTY: Content = { users: [], retired: [] };

/**
 * The users of the embedded store in one file (0600) of the data folder's secrets. One program writes it; the store reads
 * it again when it has changed, so that a user who was added or removed is so at once.
 */
export class StoreUserFile implements StoreUsers {
  #version = '';
  #content: Content = EMPTY;

  constructor(private readonly path: string) {}

  find(accessKeyId: string): StoreUser | undefined {
    return this.#read().users.find((user) => user.accessKeyId === accessKeyId);
  }

  /** The user of a name, with these grants and no others; made when it does not exist. */
  ensure(name: string, grants: readonly StoreGrant[]): StoreUser {
    const { users, retired } = this.#read();
    const found = users.find((user) => user.name === name);
    if (found && jsonEquals(found.grants, grants)) return found;
    const user: NamedUser = { name, ...(found ?? newKeys()), grants };
    this.#write({ users: [...users.filter((one) => one.name !== name), user], retired });
    return user;
  }

  /** The user of a name. */
  findNamed(name: string): StoreUser | undefined {
    return this.#read().users.find((user) => user.name === name);
  }

  /** True when no user exists; a data folder from before there were users has none. */
  get isEmpty(): boolean {
    return this.#read().users.length === 0;
  }

  get retired(): readonly string[] {
    return this.#read().retired;
  }

  /** Remembers an access key that opens nothing, so that its users can be given another one. */
  retire(accessKeyId: string): void {
    const { users, retired } = this.#read();
    if (!retired.includes(accessKeyId)) this.#write({ users, retired: [...retired, accessKeyId] });
  }

  /** Forgets the retired keys, once all their users have new ones. */
  forgetRetired(): void {
    const { users, retired } = this.#read();
    if (retired.length > 0) this.#write({ users, retired: [] });
  }

  #read(): Content {
    const version = versionOf(this.path);
    if (version === this.#version) return this.#content;
    // a file that a person is editing must not shut out the users that are known
    if (this.#version === '') this.#content = readJson<Content>(this.path) ?? EMPTY;
    else this.#content = this.#readAgain() ?? this.#content;
    this.#version = version;
    return this.#content;
  }

  #readAgain(): Content | undefined {
    try {
      return readJson<Content>(this.path) ?? EMPTY;
    } catch {
      return undefined;
    }
  }

  #write(content: Content): void {
    writeJson(this.path, content);
    this.#version = '';
  }
}

/** Changes with every file that takes the place of another. */
function versionOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found ? `${found.ino} ${found.mtimeNs} ${found.size}` : 'none';
}

/** New keys in the shape that S3 clients expect. */
function newKeys(): Pick<StoreUser, 'accessKeyId' | 'secretAccessKey'> {
  return {
    accessKeyId: `AGENTPLANE${randomBytes(5).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('base64url'),
  };
}
