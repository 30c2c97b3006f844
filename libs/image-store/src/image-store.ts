import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError } from '#lib/errors';
import { type GraphConfiguration, isModuleName, parseGraphConfiguration } from '#lib/graph-configuration';
import { findProcess } from '#lib/process-identity';
import { REASON } from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';
import { type BuiltFolder, hasPackages, takeBuilt } from './built-image.js';
import { refusingWhatWasBuilt } from './built-problem.js';
import { ClosedContents, type ImageReader } from './closed-contents.js';
import { copyContent } from './copy-content.js';
import { decideOwners } from './decide-owners.js';
import type { ImageEntry } from './image-entries.js';
import { ImageIndex } from './image-index.js';
import { installDependencies, linkPlatform } from './dependencies/install-dependencies.js';
import { readSmallFile } from './read-small-file.js';
import { hasLostPython, installPython } from './python/install-python.js';
import { IMAGE_NAME, parseImageReference, pinnedReference } from './reference.js';
import { workspaceNames } from './workspace-names.js';

export interface ImageStoreOptions {
  /** `images/` of the data folder. */
  readonly folder: string;
  /** The installation: holds `dist/` and `node_modules/`. */
  readonly installation: string;
  readonly clock?: Clock;
}

/** What the node starts for an image. */
export interface ResolvedImage {
  readonly kind: 'platform' | 'agent';
  /** Working directory; a platform program has none of its own. */
  readonly folder: string | undefined;
  /** File for Node to run. */
  readonly entryPoint: string;
}

export interface StoredImage {
  readonly name: string;
  readonly digest: string;
  /** `local/NAME@sha256:HEX` */
  readonly reference: string;
  /** RFC 3339. */
  readonly importedAt: string;
  /** Those that have the image; undefined for every one of the machine. */
  readonly namespaces?: readonly string[];
}

export interface ImportOptions {
  /** Who shall have the image. Default: who has the name already, or every namespace of the machine. */
  readonly namespaces?: readonly string[];
  /** Whether packages of Python without a wheel are built, which runs code of their authors. */
  readonly builds?: boolean;
  /** Called before packages are installed, which may take minutes. */
  readonly onInstall?: () => void;
  /** Gets what the installer of Python packages says meanwhile. */
  readonly onLine?: (line: string) => void;
}

/** The images of one machine: folders kept by the digest of their content. */
export interface ImageStore {
  /**
   * Copies a folder with a `langgraph.json` and points the name to it. The same content again is the same image.
   * @throws WaitingError when the package registry is unavailable, TerminalError when the name or the folder cannot be an image, its dependencies cannot be installed, or the name would be taken from somebody
   */
  import(name: string, source: string, options?: ImportOptions): Promise<StoredImage>;
  /**
   * Takes what an untrusted build left, packages included, for these namespaces alone. No name points to it.
   * @param name of the reference, for people
   * @returns the reference
   * @throws TerminalError when it cannot be an image
   */
  importBuilt(name: string, built: BuiltFolder, namespaces: readonly string[]): Promise<string>;
  /** By name. */
  list(): Promise<readonly StoredImage[]>;
  /** What the name means now. */
  find(name: string): Promise<StoredImage | undefined>;
  /**
   * `undefined`: there is no such image here for this reader, whether or not another has it. Versions of platform images
   * are not compared: there is one installation.
   */
  resolve(reference: string, reader: ImageReader): Promise<ResolvedImage | undefined>;
}

/** Opens a store; nothing is made on disk before the first import. */
export function openImageStore({ folder, installation, clock = systemClock }: ImageStoreOptions): ImageStore {
  const index = new ImageIndex(folder, clock);
  const program = (app: string): string => join(installation, 'dist', 'apps', app, 'src', 'main.js');
  const closed = new ClosedContents(folder, clock);
  const places = {
    shared: join(folder, 'dependencies'),
    platformModules: join(installation, 'node_modules'),
  };
  const openFolderOf = (digest: string): string => join(folder, digest.replace(':', '-'));

  async function list(): Promise<readonly StoredImage[]> {
    const images = Object.entries(await index.read()).map(([name, { digest, importedAt, namespaces }]) => ({
      ...{ name, digest, importedAt },
      reference: pinnedReference(name, digest),
      ...(namespaces ? { namespaces } : {}),
    }));
    return images.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async function find(name: string): Promise<StoredImage | undefined> {
    return (await list()).find((image) => image.name === name);
  }

  return {
    list,
    find,

    async import(name, source, options = {}) {
      const { namespaces: wanted } = options;
      const configuration = requireImportable(name, source);
      const decide = (before: ImageEntry | undefined): readonly string[] | undefined =>
        decideOwners(name, before, wanted);
      const namespaces = decide(await index.find(name));
      const place = namespaces ? closed.folder : folder;
      await mkdir(place, { recursive: true, mode: 0o700 }); // an agent's folder may hold secrets
      for (const one of [folder, closed.folder, places.shared]) await removePartials(one);
      const partial = join(place, `.partial-${process.pid}-${randomBytes(4).toString('hex')}`);
      try {
        const digest = await copyContent(source, partial);
        if (namespaces && existsSync(openFolderOf(digest))) throw contentIsOpen(name, namespaces);
        const target = namespaces ? closed.folderOf(digest) : openFolderOf(digest);
        if (!existsSync(target)) {
          await install(partial, places, configuration, options);
          await rename(partial, target).catch((error: unknown) => {
            if (!existsSync(target)) throw error; // else another import of the same content was faster
          });
        } else if (await hasLostPython(target)) await install(target, places, configuration, options);
        await index.set(name, digest, namespaces, decide);
        if (namespaces) await closed.give(digest, namespaces);
      } finally {
        await rm(partial, { recursive: true, force: true });
      }
      const image = await find(name);
      if (!image) throw new Error(`the image ${name} is not in the index that was just written`);
      return image;
    },

    importBuilt: (name, built, namespaces) =>
      storeBuilt(name, built, { closed, namespaces, platformModules: places.platformModules }),

    async resolve(text, reader) {
      const reference = parseImageReference(text);
      switch (reference?.kind) {
        case undefined:
          return undefined;
        case 'platform': {
          const entryPoint = program(reference.app);
          return existsSync(entryPoint) ? { kind: 'platform', folder: undefined, entryPoint } : undefined;
        }
        case 'local': {
          const open = openFolderOf(reference.digest);
          const image = existsSync(open) ? open : await closed.open(reference.digest, reader);
          return image === undefined
            ? undefined
            : { kind: 'agent', folder: image, entryPoint: program('agent-server') };
        }
      }
    },
  };
}

const PYTHON_REFUSED =
  'graphs in Python are not built from git yet; add the folder with "agentplane image add NAME FOLDER" and deploy it as internal_image';

interface BuiltPlaces {
  readonly closed: ClosedContents;
  readonly namespaces: readonly string[];
  readonly platformModules: string;
}

async function storeBuilt(
  name: string,
  built: BuiltFolder,
  { closed, namespaces, platformModules }: BuiltPlaces,
): Promise<string> {
  await mkdir(closed.folder, { recursive: true, mode: 0o700 });
  await removePartials(closed.folder);
  const partial = join(closed.folder, `.partial-${process.pid}-${randomBytes(4).toString('hex')}`);
  try {
    const { digest, agent } = await refusingWhatWasBuilt([built.source, partial], () =>
      takeBuilt(built, partial),
    );
    const target = closed.folderOf(digest);
    if (!existsSync(target)) {
      await refusingWhatWasBuilt([partial], async () => {
        const { python } = requireImportable(name, agent);
        if (python) throw new TerminalError(REASON.buildRefused, PYTHON_REFUSED);
        if (!hasPackages(partial, agent)) await linkPlatform(agent, platformModules);
      });
      await rename(partial, target).catch((error: unknown) => {
        if (!existsSync(target)) throw error; // else another build of the same content was faster
      });
    }
    await closed.give(digest, namespaces);
    return pinnedReference(name, digest);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** Gives an image the packages that it asks for. */
async function install(
  folder: string,
  { shared, platformModules }: { readonly shared: string; readonly platformModules: string },
  { python }: GraphConfiguration,
  { builds = false, onInstall, onLine }: ImportOptions,
): Promise<void> {
  if (python) return installPython({ folder, shared, settings: python, builds, onInstall, onLine });
  await installDependencies({ folder, shared, platformModules, ...(onInstall ? { onInstall } : {}) });
}

function requireImportable(name: string, source: string): GraphConfiguration {
  if (!IMAGE_NAME.test(name))
    throw new TerminalError(
      'ImageNameInvalid',
      `${JSON.stringify(name)} cannot be the name of an image: use a-z, 0-9, ".", "_" and "-", at most 63`,
    );
  if (!statSync(source, { throwIfNoEntry: false })?.isDirectory())
    throw new TerminalError('FolderNotFound', `${source} is not a folder`);
  const configuration = join(source, 'langgraph.json');
  if (!existsSync(configuration))
    throw new TerminalError('NotAnAgent', `${source} has no langgraph.json; an agent's folder needs one`);
  const read = parseGraphConfiguration(readSmallFile(configuration, 'NotAnAgent'), ['javascript', 'python']);
  const { graphs, auth, http, ui } = read;
  const named = graphs.map(({ graphId, file }) => ({ what: `graph "${graphId}"`, file }));
  const others = [
    ...(auth ? [{ what: '"auth.path"', file: auth.file }] : []),
    ...(http.app ? [{ what: '"http.app"', file: http.app.file }] : []),
    ...ui.entries.map(({ name, file }) => ({ what: `"ui": ${name}`, file })),
  ];
  for (const { what, file } of [...named, ...others])
    if (!isModuleName(file) && !existsSync(join(source, file)))
      throw new TerminalError('NotAnAgent', `langgraph.json: ${what}: ${file} does not exist`);
  return read;
}

/** Whoever knows its digest could run it and read its files: a promise to close it could not be kept. */
function contentIsOpen(name: string, namespaces: readonly string[]): TerminalError {
  return new TerminalError(
    'ContentShared',
    `image ${name}: this content is open to every workspace already, under another name or from before; ` +
      `change what only ${workspaceNames(namespaces)} may read (a new key makes another content), and add it again`,
  );
}

/** What imports left that were killed. */
async function removePartials(folder: string): Promise<void> {
  for (const name of existsSync(folder) ? await readdir(folder) : []) {
    const pid = Number(/^\.partial-(\d+)-/.exec(name)?.[1]);
    if (pid > 0 && !findProcess(pid)) await rm(join(folder, name), { recursive: true, force: true });
  }
}
