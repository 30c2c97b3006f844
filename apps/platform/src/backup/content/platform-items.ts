import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataPaths } from '#lib/data-folder';
import type { TarItem } from '#lib/tar';
import { folderItems } from './folder-items.js';
import { FILES, isDraft, isOfImages } from './part-entries.js';

/** The image store; its index first, since contents that it names are older than it. */
export async function* imageItems({ root }: DataPaths): AsyncGenerator<TarItem> {
  yield* folderItems(root, 'images/index.json', () => false);
  yield* folderItems(root, 'images', (path) => path === 'images/index.json' || !isOfImages(path));
}

/** Keys, passwords, addresses and the identity of the node; none of its pods. */
export async function* fileItems({ root }: DataPaths): AsyncGenerator<TarItem> {
  for (const name of FILES) yield* folderItems(root, name, isDraft);
  const node = await readdir(join(root, 'node'), { withFileTypes: true }).catch(() => []);
  for (const entry of node) if (entry.isFile()) yield* folderItems(root, `node/${entry.name}`, isDraft);
}

/** The audit log, current and rotated files. */
export async function* auditItems({ root, logs }: DataPaths): AsyncGenerator<TarItem> {
  const names = await readdir(logs).catch(() => []);
  for (const name of names.sort())
    if (name.startsWith('audit')) yield* folderItems(root, `logs/${name}`, () => false);
}
