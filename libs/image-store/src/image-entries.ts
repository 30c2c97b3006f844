import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface ImageEntry {
  /** `sha256:HEX` */
  readonly digest: string;
  /** RFC 3339. */
  readonly importedAt: string;
  /** Those that have the image; undefined for every one of the machine. */
  readonly namespaces?: readonly string[];
  /** What the name meant before, newest first. */
  readonly history?: readonly { readonly digest: string; readonly importedAt: string }[];
}

export type ImageEntries = Readonly<Record<string, ImageEntry>>;

/**
 * Reads `index.json` of an image store; empty when the file does not exist.
 * @throws Error when the file is no index: nothing is read as an empty store, and nothing written over it
 */
export async function readImageEntries(folder: string): Promise<ImageEntries> {
  const path = join(folder, 'index.json');
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  const remedy = 'restore it, or remove it and add the images again';
  let parsed: { images?: ImageEntries } | null;
  try {
    parsed = JSON.parse(text) as { images?: ImageEntries } | null;
  } catch (cause) {
    throw new Error(`${path} is not JSON: ${remedy}`, { cause });
  }
  const images = parsed?.images;
  if (typeof images !== 'object' || images === null) throw new Error(`${path} has no images: ${remedy}`);
  return images;
}

/** Whether a namespace has the name. */
export function isOpenTo({ namespaces }: Pick<ImageEntry, 'namespaces'>, namespace: string): boolean {
  return namespaces === undefined || (Array.isArray(namespaces) && namespaces.includes(namespace));
}
