import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of images in the store with their digests (`sha256:HEX`). */
export type ImageIndex = ReadonlyMap<string, string>;

/** Reads `index.json` of the image store; empty when there is no store or no image in it. */
export async function readImageIndex(folder: string | undefined): Promise<ImageIndex> {
  if (folder === undefined) return new Map();
  let text: string;
  try {
    text = await readFile(join(folder, 'index.json'), 'utf8');
  } catch (error) {
    if (typeof error === 'object' && error !== null && Reflect.get(error, 'code') === 'ENOENT')
      return new Map();
    throw error;
  }
  return parseImageIndex(text);
}

/** @throws Error when the text is no index */
export function parseImageIndex(text: string): ImageIndex {
  const parsed: unknown = JSON.parse(text);
  const images: unknown =
    typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, 'images') : undefined;
  if (typeof images !== 'object' || images === null)
    throw new Error('reading index.json of the image store failed: it has no images');
  const index = new Map<string, string>();
  for (const [name, entry] of Object.entries(images)) {
    const digest: unknown =
      typeof entry === 'object' && entry !== null ? Reflect.get(entry, 'digest') : undefined;
    if (typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest)) index.set(name, digest);
  }
  return index;
}

/**
 * The reference that a revision runs from then on. Images of the platform's own store are pinned by digest; a name that
 * the store does not have stays as it is, and the pod reports ErrImagePull, as with any registry.
 */
export function pinImage(imageUri: string, index: ImageIndex): string {
  const name = imageUri.replace(/^local\//, '');
  const digest = index.get(name);
  return digest === undefined ? `local/${name}` : `local/${name}@${digest}`;
}
