import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packagesOf } from '#lib/data-folder';
import { TerminalError } from '#lib/errors';
import { type GraphConfiguration, parseGraphConfiguration } from '#lib/graph-configuration';
import { type Clock, systemClock } from '#lib/time';
import { type BuiltFolder, storeBuilt } from './built-image.js';
import { ClosedContents, GIVEN_LATELY_MS, type GivenContent, type ImageReader } from './closed-contents.js';
import { copyContent, secretsLeftOut } from './copy-content.js';
import { installDependencies } from './dependencies/install-dependencies.js';
import { removeUnusedPackages } from './dependencies/shared-packages.js';
import {
  decideOwners,
  type ImageEntry,
  parseImageReference,
  pinnedReference,
  workspaceNames,
} from './image-entries.js';
import { keepGraphTypes } from './graph-types/keep-graph-types.js';
import { ImageIndex, namedBy } from './image-index.js';
import { inPartial, moveInto, partialPath, removePartials, removeTree } from './partial-folder.js';
import { hasLostPython, installPython } from './python/install-python.js';
import { requireImportable, requireLibraries } from './require-libraries.js';
import { lockStore } from './store-lock.js';

/** Others wait for the lock meanwhile. */
const AT_ONCE = 100;
const CONTENT = /^sha256-[0-9a-f]{64}$/;
const USER = /^user-\d+$/;

export interface RemovalPlaces {
  readonly folder: string;
  readonly index: ImageIndex;
  readonly closed: ClosedContents;
  readonly clock: Clock;
}

/**
 * Removes contents from a store: their folders, who has them, and the copies for users of pods. Only what a build of this
 * cluster left, or lost its last name: an index that was lost or restored makes nothing unwanted.
 */
class ContentRemoval {
  constructor(private readonly places: RemovalPlaces) {}

  /**
   * Digests that nothing in the store keeps. Something outside may: revisions of the cluster, and pods.
   * @param cluster whose builds are meant
   */
  async listUnnamed(cluster: string): Promise<readonly string[]> {
    const { folder, closed } = this.places;
    for (const place of [folder, closed.folder]) await removePartials(place);
    return await this.#unnamed(cluster);
  }

  async #unnamed(cluster: string): Promise<readonly string[]> {
    const { index, closed, clock } = this.places;
    const lately = clock.now().getTime() - GIVEN_LATELY_MS;
    const access = await closed.list();
    const built = [...access]
      .filter(([, { built: note }]) => note?.cluster === cluster && Date.parse(note.at) < lately)
      .map(([digest]) => digest);
    const copied = (await this.#copies()).map(({ digest }) => digest);
    const left = copied.filter((one) => !access.has(one) && !existsSync(closed.folderOf(one)));
    const named = namedBy(await index.read());
    return [...new Set([...built, ...left, ...(await index.released())])].filter((one) => !named.has(one));
  }

  /**
   * Removes contents. Those that were named, or given again by a build, since they were listed, stay.
   * @returns the digests that were removed
   */
  async remove(digests: readonly string[], cluster: string): Promise<readonly string[]> {
    const { index, closed } = this.places;
    if (digests.length === 0) return [];
    await closed.make();
    const left: string[] = [];
    try {
      const removed = await this.#take(digests, cluster, left);
      await index.forget(new Set(removed));
      return removed;
    } finally {
      // also where the index cannot be written, as on a full disk: they carry the name of a process that runs
      for (const partial of left) await removeTree(partial);
    }
  }

  /** @param left gets paths that are not found by their name any more, and have to be removed */
  async #take(digests: readonly string[], cluster: string, left: string[]): Promise<readonly string[]> {
    const { folder, closed, clock } = this.places;
    const release = await lockStore(folder, clock);
    try {
      const unnamed = new Set(await this.#unnamed(cluster));
      const removed = digests.filter((one) => unnamed.has(one)).slice(0, AT_ONCE);
      const copies = await this.#copies();
      for (const digest of removed) {
        const own = copies.filter((one) => one.digest === digest).map(({ path }) => path);
        const open = join(folder, digest.replace(':', '-'));
        for (const path of [open, closed.folderOf(digest), ...own].filter((one) => existsSync(one))) {
          const partial = partialPath(closed.folder);
          await rename(path, partial);
          left.push(partial);
        }
        // last: a removal that is cut short before finds the content again by it
        await rm(`${closed.folderOf(digest)}.json`, { force: true });
      }
      return removed;
    } finally {
      await release();
    }
  }

  /** Copies that users of pods have of their own. */
  async #copies(): Promise<readonly { readonly digest: string; readonly path: string }[]> {
    const { folder } = this.places;
    const users = existsSync(folder) ? (await readdir(folder)).filter((name) => USER.test(name)) : [];
    const found = await Promise.all(
      users.map(async (user) =>
        (await readdir(join(folder, user)))
          .filter((name) => CONTENT.test(name))
          .map((name) => ({ digest: name.replace('-', ':'), path: join(folder, user, name) })),
      ),
    );
    return found.flat();
  }
}

export interface ImageStoreOptions {
  /** `images/` of the data folder. */
  readonly folder: string;
  /** The installation: holds `dist/`, and knows where its packages are. */
  readonly installation: string;
  readonly clock?: Clock;
}

/** Image as the node starts it. */
export interface ResolvedImage {
  readonly kind: 'platform' | 'agent';
  /** Working directory; a platform program has none of its own. */
  readonly folder: string | undefined;
  /** File for Node to run. */
  readonly entryPoint: string;
  /** True when its program can be started before it knows its agent: one whose graphs are JavaScript. */
  readonly hasSpares?: boolean;
}

export interface StoredImage {
  readonly name: string;
  readonly digest: string;
  /** `local/NAME@sha256:HEX` */
  readonly reference: string;
  /** RFC 3339. */
  readonly importedAt: string;
  /** Namespaces that have the image; undefined for every one of the machine. */
  readonly namespaces?: readonly string[];
  /** Sentences about settings that have no effect, and about what was installed otherwise than the agent asks. */
  readonly notes: readonly string[];
}

export interface ImportOptions {
  /**
   * Namespaces that shall have the image. Default: those that have the name already, or every namespace of
   * the machine.
   */
  readonly namespaces?: readonly string[];
  /** True when packages of Python without a wheel are built, which runs code of their authors. */
  readonly builds?: boolean;
  /** Called before packages are installed, which may take minutes. */
  readonly onInstall?: () => void;
  /** Gets what the installer of Python packages says meanwhile. */
  readonly onLine?: (line: string) => void;
}

/** Opens a store; nothing is made on disk before the first import. */
export function openImageStore(options: ImageStoreOptions): ImageStore {
  return new ImageStore(options);
}

/** The images of one machine: folders kept by the digest of their content. */
export class ImageStore {
  readonly #folder: string;
  readonly #installation: string;
  readonly #clock: Clock;
  readonly #index: ImageIndex;
  readonly #closed: ClosedContents;
  readonly #removal: ContentRemoval;
  /** Folders of shared packages, and of the platform's own. */
  readonly #packages: { readonly shared: string; readonly platformModules: string };

  constructor({ folder, installation, clock = systemClock }: ImageStoreOptions) {
    this.#folder = folder;
    this.#installation = installation;
    this.#clock = clock;
    this.#index = new ImageIndex(folder, clock);
    this.#closed = new ClosedContents(folder, clock);
    this.#removal = new ContentRemoval({ folder, index: this.#index, closed: this.#closed, clock });
    this.#packages = {
      shared: join(folder, 'dependencies'),
      platformModules: packagesOf(installation),
    };
  }

  /** Lists images by name. */
  async list(): Promise<readonly StoredImage[]> {
    const images = Object.entries(await this.#index.read()).map(([name, entry]) => storedImage(name, entry));
    return images.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Present content of the name. */
  async find(name: string): Promise<StoredImage | undefined> {
    const entry = await this.#index.find(name);
    return entry && storedImage(name, entry);
  }

  /**
   * Copies a folder with a `langgraph.json` and points the name to it. The same content again is the same
   * image.
   * @throws WaitingError when the package registry is unavailable, TerminalError when the name or the folder
   * cannot be an image, its dependencies cannot be installed, or a namespace would lose the name
   */
  async import(name: string, source: string, options: ImportOptions = {}): Promise<StoredImage> {
    const { namespaces: wanted } = options;
    const configuration = requireImportable(name, source);
    const decide = (before: ImageEntry | undefined): readonly string[] | undefined =>
      decideOwners(name, before, wanted);
    const namespaces = decide(await this.#index.find(name));
    await mkdir(this.#folder, { recursive: true, mode: 0o700 }); // an agent's folder may hold secrets
    for (const one of [this.#folder, this.#closed.folder, this.#packages.shared]) await removePartials(one);
    await inPartial(this.#folder, async (own) => {
      // the folder is as deep as its final place, since links to packages are relative
      const partial = namespaces ? join(own, 'content') : own;
      if (namespaces) await this.#closed.make();
      await mkdir(own, { mode: 0o700 });
      const digest = await copyContent(source, partial, secretsLeftOut(source));
      if (namespaces && existsSync(this.#openFolderOf(digest))) throw contentIsOpen(name, namespaces);
      const folder = namespaces ? this.#closed.folderOf(digest) : this.#openFolderOf(digest);
      let notes: readonly string[] | undefined;
      if (!existsSync(folder)) {
        notes = await this.#install({ folder: partial, own }, configuration, options);
        await moveInto(partial, folder); // another import of the same content may have been faster
      } else if (await hasLostPython(folder)) {
        notes = await this.#install({ folder: partial, own }, configuration, options);
        await rename(join(partial, '.venv'), join(folder, '.venv'));
      }
      await this.#index.set(name, { digest, folder, namespaces, notes, decide });
      if (namespaces) await this.#closed.give(digest, namespaces);
    });
    const image = await this.find(name);
    if (!image) throw new Error(`the image ${name} is not in the index that was just written`);
    return image;
  }

  /**
   * Takes the result of an untrusted build, packages included, for its namespace alone. No name points to it.
   * @param name of the reference, for people
   * @returns the reference
   * @throws TerminalError when it cannot be an image, or its namespace has too many
   */
  importBuilt(name: string, built: BuiltFolder): Promise<string> {
    return storeBuilt(name, built, this.#closed, this.#packages.platformModules);
  }

  /**
   * Removes a name and its history. The contents stay until `removeContents` is called.
   * @returns the image that it named; undefined for an unknown name
   */
  async remove(name: string): Promise<StoredImage | undefined> {
    const entry = await this.#index.remove(name);
    return entry && storedImage(name, entry);
  }

  /**
   * Digests of contents that no name means, and which either a build of this cluster left, or lost their last name.
   * Revisions and pods may name them.
   */
  listUnnamed(cluster: string): Promise<readonly string[]> {
    return this.#removal.listUnnamed(cluster);
  }

  /**
   * Removes contents for good, but not those that were named or built again since they were listed.
   * @returns the digests that were removed
   */
  removeContents(digests: readonly string[], cluster: string): Promise<readonly string[]> {
    return this.#removal.remove(digests, cluster);
  }

  /** Namespaces of each content, by digest; a content that is missing here is open to all. */
  async holders(): Promise<ReadonlyMap<string, readonly string[]>> {
    const access = await this.#closed.list();
    const closed = [...access].filter(([digest]) => !existsSync(this.#openFolderOf(digest)));
    return new Map(closed.map(([digest, { namespaces }]) => [digest, namespaces]));
  }

  /** Contents that builds of a cluster gave to namespaces more than five minutes ago. */
  listGiven(cluster: string): Promise<readonly GivenContent[]> {
    return this.#closed.listGiven(cluster);
  }

  /**
   * Takes contents from namespaces that name them no more, but not those that a build gave again since they were listed.
   * @returns the contents that were taken
   */
  takeBack(contents: readonly GivenContent[], cluster: string): Promise<readonly GivenContent[]> {
    return this.#closed.takeBack(contents, cluster);
  }

  /** Removes installed packages that no content uses any more. @returns number of folders */
  removeUnusedPackages(): Promise<number> {
    return removeUnusedPackages(this.#folder, this.#packages.shared, this.#clock);
  }

  /**
   * `undefined`: there is no such image here for this reader, whether or not another has it. Versions of platform images
   * are not compared: there is one installation.
   */
  async resolve(text: string, reader: ImageReader): Promise<ResolvedImage | undefined> {
    const reference = parseImageReference(text);
    switch (reference?.kind) {
      case undefined:
        return undefined;
      case 'platform': {
        const entryPoint = this.#programOf(reference.app);
        return existsSync(entryPoint) ? { kind: 'platform', folder: undefined, entryPoint } : undefined;
      }
      case 'local': {
        const open = this.#openFolderOf(reference.digest);
        const folder = existsSync(open) ? open : await this.#closed.open(reference.digest, reader);
        if (folder === undefined) return undefined;
        const hasSpares = await isJavaScript(folder);
        return { kind: 'agent', folder, entryPoint: this.#programOf('agent-server'), hasSpares };
      }
    }
  }

  #openFolderOf(digest: string): string {
    return join(this.#folder, digest.replace(':', '-'));
  }

  #programOf(app: string): string {
    return join(this.#installation, 'dist', 'apps', app, 'src', 'main.js');
  }

  /** Gives an image the packages that it asks for. @returns its notes */
  async #install(
    { folder, own }: { readonly folder: string; readonly own: string },
    configuration: GraphConfiguration,
    { builds = false, onInstall, onLine }: ImportOptions,
  ): Promise<readonly string[]> {
    const { shared, platformModules } = this.#packages;
    const clock = this.#clock;
    const { python: settings } = configuration;
    const notes = [...configuration.notes];
    const onNote = (note: string): void => void notes.push(note);
    if (settings)
      await installPython({ folder, own, shared, clock, settings, builds, onInstall, onLine, onNote });
    else
      await installDependencies({
        folder,
        own,
        shared,
        clock,
        platformModules,
        onNote,
        ...(onInstall ? { onInstall } : {}),
      });
    requireLibraries(configuration, folder);
    if (!settings)
      notes.push(
        ...(await keepGraphTypes(join(folder, 'langgraph.json'), [shared, platformModules], {
          isFinal: true,
        })),
      );
    return notes;
  }
}

function storedImage(name: string, { digest, importedAt, namespaces, notes = [] }: ImageEntry): StoredImage {
  return {
    name,
    digest,
    importedAt,
    reference: pinnedReference(name, digest),
    notes,
    ...(namespaces ? { namespaces } : {}),
  };
}

/**
 * Error for closing an open content: any user who knows its digest could run it and read its files, so a
 * promise to close it could not be kept.
 */
function contentIsOpen(name: string, namespaces: readonly string[]): TerminalError {
  return new TerminalError(
    'ContentShared',
    `image ${name}: this content is open to every workspace already, under another name or from before; ` +
      `change what only ${workspaceNames(namespaces)} may read (a new key makes another content), and add it again`,
  );
}

/** False where the settings of the graphs are elsewhere in the image, or cannot be read. */
async function isJavaScript(folder: string): Promise<boolean> {
  try {
    const text = await readFile(join(folder, 'langgraph.json'), 'utf8');
    return parseGraphConfiguration(text, ['javascript', 'python']).python === undefined;
  } catch {
    return false;
  }
}
