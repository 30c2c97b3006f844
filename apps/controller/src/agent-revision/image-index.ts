import { isOpenTo, readImageEntries } from '#lib/image-store';

/** Names of images in the store with their digests (`sha256:HEX`). */
export type ImageIndex = ReadonlyMap<string, string>;

/**
 * Images of a namespace in the image store; empty when there is no store or no image in it. Entries without a
 * digest are skipped. An image of another namespace is treated as one that does not exist.
 */
export async function readImageIndex(folder: string | undefined, namespace: string): Promise<ImageIndex> {
  const entries = folder === undefined ? {} : await readImageEntries(folder);
  const index = new Map<string, string>();
  for (const [name, entry] of Object.entries(entries))
    if (/^sha256:[0-9a-f]{64}$/.test(entry.digest) && isOpenTo(entry, namespace))
      index.set(name, entry.digest);
  return index;
}

/**
 * The reference that a revision runs from then on. Images of the platform's own store are pinned by digest; a name that
 * the store does not have stays as it is, and the pod reports that the image is missing, as with any registry.
 */
export function pinImage(imageUri: string, index: ImageIndex): string {
  const name = imageUri.replace(/^local\//, '');
  const digest = index.get(name);
  return digest === undefined ? `local/${name}` : `local/${name}@${digest}`;
}
