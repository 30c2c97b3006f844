import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissingFile, TerminalError, unless } from '#lib/errors';

/** Namespaces as their users call them: by the names of their workspaces. */
export function workspaceNames(namespaces: readonly string[]): string {
  return namespaces.map((one) => one.replace(/^ws-/, '')).join(', ');
}

/**
 * Decides which namespaces have a name after it was added; undefined for all. Without a request it keeps its
 * present ones: adding a new state of an image must not open it.
 * @param before the name as it is; undefined when it is new
 * @param wanted the namespaces to add it for; undefined when none are named
 * @throws TerminalError when a namespace would lose the name
 */
export function decideOwners(
  name: string,
  before: ImageEntry | undefined,
  wanted: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!wanted) return before?.namespaces;
  if (before && !before.namespaces)
    throw new TerminalError(
      'ImageShared',
      `image ${name} belongs to every workspace; choose another name for one of ${workspaceNames(wanted)}`,
    );
  const losing = before?.namespaces?.filter((one) => !wanted.includes(one)) ?? [];
  if (losing.length > 0)
    throw new TerminalError(
      'ImageOfOthers',
      `image ${name} belongs to workspace ${workspaceNames(losing)}; name it as well, or choose another name`,
    );
  return [...new Set(wanted)].sort();
}

/** Meaning of an image reference on one machine. */
export type ImageReference =
  | { readonly kind: 'platform'; readonly app: string; readonly version: string }
  | { readonly kind: 'local'; readonly name: string; readonly digest: string };

const PLATFORM = /^agentplane\/([a-z][a-z0-9-]*):([\w][\w.-]*)$/;
const LOCAL = /^local\/([a-z0-9][a-z0-9._-]*)@(sha256:[0-9a-f]{64})$/;

/** Names of images: what a registry would take as a repository's last part. */
export const IMAGE_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Parses `agentplane/APP:VERSION` and `local/NAME@sha256:HEX`; anything else is `undefined`. */
export function parseImageReference(text: string): ImageReference | undefined {
  const platform = PLATFORM.exec(text);
  if (platform) return { kind: 'platform', app: platform[1] ?? '', version: platform[2] ?? '' };
  const local = LOCAL.exec(text);
  if (local) return { kind: 'local', name: local[1] ?? '', digest: local[2] ?? '' };
  return undefined;
}

/** `local/NAME@sha256:HEX`: a reference that always means the same files. */
export function pinnedReference(name: string, digest: string): string {
  return `local/${name}@${digest}`;
}

export interface ImageEntry {
  /** `sha256:HEX` */
  readonly digest: string;
  /** RFC 3339. */
  readonly importedAt: string;
  /** Namespaces that have the image; undefined for every one of the machine. */
  readonly namespaces?: readonly string[];
  /** Sentences for people about what of the content was installed otherwise than it asks. */
  readonly notes?: readonly string[];
  /** Former contents of the name, newest first. */
  readonly history?: readonly { readonly digest: string; readonly importedAt: string }[];
}

export type ImageEntries = Readonly<Record<string, ImageEntry>>;

/** `index.json` */
export interface IndexFile {
  readonly images: ImageEntries;
  /** Digests that lost their last name: their contents are removed once nothing runs them. */
  readonly released?: readonly string[];
}

/** The names in the `index.json` of an image store; @throws as `readIndexFile` */
export async function readImageEntries(folder: string): Promise<ImageEntries> {
  return (await readIndexFile(folder)).images;
}

/**
 * Reads `index.json` of an image store; empty when the file does not exist.
 * @throws Error when the file is no index: nothing is read as an empty store, and nothing written over it
 */
export async function readIndexFile(folder: string): Promise<IndexFile> {
  const path = join(folder, 'index.json');
  const text = await readFile(path, 'utf8').catch(unless(isMissingFile));
  if (text === undefined) return { images: {} };
  const remedy = 'restore it, or remove it and add the images again';
  let parsed: Partial<IndexFile> | null;
  try {
    parsed = JSON.parse(text) as Partial<IndexFile> | null;
  } catch (cause) {
    throw new Error(`${path} is not JSON: ${remedy}`, { cause });
  }
  const images = parsed?.images;
  if (typeof images !== 'object' || images === null) throw new Error(`${path} has no images: ${remedy}`);
  return { images, ...(parsed?.released ? { released: parsed.released } : {}) };
}

/** True when a namespace has the name. */
export function isOpenTo({ namespaces }: Pick<ImageEntry, 'namespaces'>, namespace: string): boolean {
  return namespaces === undefined || (Array.isArray(namespaces) && namespaces.includes(namespace));
}
