import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissingFile, unless } from '#lib/errors';
import type { Clock } from '#lib/time';
import { inPartial, moveInto, partialPath, removeTree } from './partial-folder.js';
import { lockStore } from './store-lock.js';

/** Namespace and user that open an image. */
export interface ImageReader {
  readonly namespace: string;
  /** The group of its processes; undefined where these are of the platform's own user. */
  readonly gid: number | undefined;
}

/** Note on a content that a build left. */
export interface BuiltNote {
  /** Size of its files. */
  readonly bytes: number;
  /** The uid of the cluster whose revisions name it; those of another cannot know whether it is in use. */
  readonly cluster: string;
  /** RFC 3339: when a build gave it last. */
  readonly at: string;
  /** The same for each namespace. Missing for those that had it before this was noted: `at` holds for them. */
  readonly given?: Readonly<Record<string, string>>;
}

/** A content that builds gave a namespace. */
export interface GivenContent {
  readonly digest: string;
  readonly namespace: string;
}

/** A build reports its image within moments; what was given lately may be on its way into a revision. */
export const GIVEN_LATELY_MS = 300_000;

/** Record beside each content, as `sha256-HEX.json`. */
export interface Access {
  readonly namespaces: readonly string[];
  /** Missing for contents that a person added. */
  readonly built?: BuiltNote;
}

const USER = /^user-\d+$/;
/** Name of the note in the folder of a user: the namespace that had it when it opened an image last. */
const NAMESPACE = '.namespace';
const NOBODY: Access = { namespaces: [] };

/**
 * Contents that belong to namespaces, in `closed/`, which only the platform's user can enter. Beside each of
 * them `sha256-HEX.json` lists those that have it: an index that was lost or restored must open nothing.
 * Processes with a user of their own read a copy in `user-NUMBER/`, which only their group can enter; a
 * folder has one group, and one content may belong to several. Both are equally deep, so that relative links
 * mean the same in both.
 */
export class ClosedContents {
  readonly folder: string;
  /** Copies that are being made, by their path: all pods of a deployment may open its image at once. */
  readonly #copying = new Map<string, Promise<string>>();

  constructor(
    private readonly store: string,
    private readonly clock: Clock,
  ) {
    this.folder = join(store, 'closed');
  }

  folderOf(digest: string): string {
    return join(this.folder, digest.replace(':', '-'));
  }

  async make(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await chmod(this.folder, 0o700);
  }

  /**
   * Gives a content to namespaces, beside those that have it.
   * @throws Error when it was removed meanwhile
   */
  async give(digest: string, namespaces: readonly string[]): Promise<void> {
    await this.make();
    const release = await lockStore(this.store, this.clock);
    try {
      if (!existsSync(this.folderOf(digest)))
        throw new Error(`image content ${digest} was removed meanwhile; run the same again`);
      await this.#write(digest, namespaces);
    } finally {
      await release();
    }
  }

  /**
   * Keeps the result of a build, and gives it to a namespace: both at once, so that it cannot be removed in
   * between.
   * @param judge gets the bytes of all built contents of the namespace, with this one; may throw
   */
  async keepBuilt(
    {
      partial,
      digest,
      namespace,
    }: { readonly partial: string; readonly digest: string; readonly namespace: string },
    { bytes, cluster }: Omit<BuiltNote, 'at' | 'given'>,
    judge: (bytes: number) => void,
  ): Promise<void> {
    await this.make();
    const release = await lockStore(this.store, this.clock);
    try {
      judge(bytes + (await this.#builtBytes(namespace, digest)));
      if (!existsSync(this.folderOf(digest))) await moveInto(partial, this.folderOf(digest));
      const { built } = await this.#accessOf(digest);
      const at = this.clock.now().toISOString();
      await this.#write(digest, [namespace], {
        bytes,
        cluster,
        at,
        given: { ...built?.given, [namespace]: at },
      });
    } finally {
      await release();
    }
  }

  /** Contents given by builds of a cluster, except recent ones. */
  async listGiven(cluster: string): Promise<readonly GivenContent[]> {
    return [...(await this.list())].flatMap(([digest, access]) =>
      this.#givenBefore(access, cluster).map((namespace) => ({ digest, namespace })),
    );
  }

  /**
   * Takes contents from namespaces that builds of a cluster gave them to, except recent ones, with the copies
   * of their users.
   * @returns the contents that were taken
   */
  async takeBack(contents: readonly GivenContent[], cluster: string): Promise<readonly GivenContent[]> {
    if (contents.length === 0) return [];
    const taken: GivenContent[] = [];
    const partials: string[] = [];
    const release = await lockStore(this.store, this.clock);
    try {
      for (const one of contents) {
        const access = await this.#accessOf(one.digest);
        if (!this.#givenBefore(access, cluster).includes(one.namespace)) continue;
        for (const copy of await this.#copiesOf(one)) {
          const partial = partialPath(this.folder);
          await rename(copy, partial);
          partials.push(partial);
        }
        // last: a pass that is cut short before finds the copies again by it
        await this.#save(one.digest, without(access, one.namespace));
        taken.push(one);
      }
    } finally {
      await release();
      // not only at the end of a whole pass: they carry the name of a process that runs
      for (const partial of partials) await removeTree(partial);
    }
    return taken;
  }

  /** Copies of a content for users of a namespace: one for each service account. */
  async #copiesOf({ digest, namespace }: GivenContent): Promise<readonly string[]> {
    const copies: string[] = [];
    for (const user of (await readdir(this.store)).filter((name) => USER.test(name))) {
      const copy = join(this.store, user, digest.replace(':', '-'));
      const reader = await readFile(join(this.store, user, NAMESPACE), 'utf8').catch(() => undefined);
      if (reader === namespace && existsSync(copy)) copies.push(copy);
    }
    return copies;
  }

  /** The folder in which a reader finds a content; undefined when its namespace has none such. */
  async open(digest: string, { namespace, gid }: ImageReader): Promise<string | undefined> {
    if (!(await this.#accessOf(digest)).namespaces.includes(namespace)) return undefined;
    const kept = this.folderOf(digest);
    if (!existsSync(kept)) return undefined;
    return gid === undefined ? kept : this.#copyFor({ namespace, gid }, digest);
  }

  /** Notes on all contents, by digest. */
  async list(): Promise<ReadonlyMap<string, Access>> {
    const all = new Map<string, Access>();
    for (const name of existsSync(this.folder) ? await readdir(this.folder) : []) {
      const [, hex] = /^sha256-([0-9a-f]{64})\.json$/.exec(name) ?? [];
      if (hex !== undefined) all.set(`sha256:${hex}`, await this.#accessOf(`sha256:${hex}`));
    }
    return all;
  }

  /** The namespaces that builds of a cluster gave a content to, but not lately. */
  #givenBefore({ namespaces, built }: Access, cluster: string): readonly string[] {
    if (built?.cluster !== cluster) return [];
    const lately = this.clock.now().getTime() - GIVEN_LATELY_MS;
    const given = new Map(Object.entries(built.given ?? {}));
    return namespaces.filter((name) => Date.parse(given.get(name) ?? built.at) < lately);
  }

  /** Size of all contents that builds gave a namespace, except one. */
  async #builtBytes(namespace: string, besides: string): Promise<number> {
    let bytes = 0;
    for (const [digest, { namespaces, built }] of await this.list())
      if (built && digest !== besides && namespaces.includes(namespace)) bytes += built.bytes;
    return bytes;
  }

  async #write(digest: string, namespaces: readonly string[], built?: BuiltNote): Promise<void> {
    const before = await this.#accessOf(digest);
    const all = [...new Set([...before.namespaces, ...namespaces])].sort();
    const note = built ?? before.built;
    await this.#save(digest, { namespaces: all, ...(note ? { built: note } : {}) });
  }

  async #save(digest: string, access: Access): Promise<void> {
    const partial = join(this.folder, `.access-${process.pid}.json`);
    await writeFile(partial, `${JSON.stringify(access)}\n`, { mode: 0o600 });
    await rename(partial, `${this.folderOf(digest)}.json`);
  }

  async #copyFor(
    { namespace, gid }: { readonly namespace: string; readonly gid: number },
    digest: string,
  ): Promise<string> {
    const room = join(this.store, `user-${gid}`);
    const copy = join(room, digest.replace(':', '-'));
    // each time: a data folder that was moved or restored may have lost both
    await mkdir(room, { recursive: true, mode: 0o700 });
    await chown(room, process.getuid?.() ?? 0, gid);
    await chmod(room, 0o710);
    const hasCopy = existsSync(copy);
    try {
      await noteNamespace(room, namespace);
    } catch (error) {
      // a full disk must not stop what needs no more of it
      if (!hasCopy) throw error;
    }
    if (existsSync(copy)) return copy;
    const copying =
      this.#copying.get(copy) ?? this.#makeCopy(digest, copy).finally(() => this.#copying.delete(copy));
    this.#copying.set(copy, copying);
    return await copying;
  }

  async #makeCopy(digest: string, copy: string): Promise<string> {
    return await inPartial(this.folder, async (partial) => {
      await cp(this.folderOf(digest), partial, { recursive: true, verbatimSymlinks: true });
      await moveInto(partial, copy); // another process may have been faster
      return copy;
    });
  }

  async #accessOf(digest: string): Promise<Access> {
    const path = `${this.folderOf(digest)}.json`;
    const text = await readFile(path, 'utf8').catch(unless(isMissingFile));
    if (text === undefined) return NOBODY;
    const { namespaces, built } = (JSON.parse(text) ?? {}) as Partial<Access>;
    if (Array.isArray(namespaces))
      return { namespaces: namespaces as readonly string[], ...(built ? { built } : {}) };
    throw new Error(`${path} names no namespaces: restore it, or remove it and add the image again`);
  }
}

/**
 * Notes the namespace of a folder of copies. Never half written: copies in a folder without a namespace are
 * not taken back.
 */
async function noteNamespace(room: string, namespace: string): Promise<void> {
  const path = join(room, NAMESPACE);
  if ((await readFile(path, 'utf8').catch(() => undefined)) === namespace) return;
  await inPartial(room, async (partial) => {
    await writeFile(partial, namespace, { mode: 0o600 });
    await rename(partial, path);
  });
}

function without({ namespaces, built }: Access, namespace: string): Access {
  const left = namespaces.filter((name) => name !== namespace);
  if (!built) return { namespaces: left };
  const given = Object.entries(built.given ?? {}).filter(([name]) => name !== namespace);
  return { namespaces: left, built: { ...built, given: Object.fromEntries(given) } };
}
