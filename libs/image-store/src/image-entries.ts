import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface ImageEntry {
  /** `sha256:HEX` */
  readonly digest: string;
  /** RFC 3339. */
  readonly importedAt: string;
  /** Namespaces that have the image; undefined for every one of the machine. */
  readonly namespaces?: readonly string[];
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
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { images: {} };
    throw error;
  }
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
