import { join, normalize } from 'node:path';
import { readdir } from 'node:fs/promises';
import { folderItems, type TarEntry, type TarItem } from '#lib/tar';
import type { DataPaths } from '#lib/data-folder';

/** Small files: what a start writes anew is among them where addresses or keys depend on it. */
const FILES = ['format.json', 'credentials.json', 'ports.json', 'kubeconfig', 'secrets', 'kube'];
/** Half written. */
const DRAFT = /\.(draft|new)$/;
/** Imports that are under way, locks, and copies that are made from `closed/` when they are needed. */
const NOT_AN_IMAGE = /^images\/((closed|dependencies)\/)?\.|^images\/user-\d+(\/|$)/;
/** Within an image, or within the packages of one: all above it are folders of the platform. */
const IN_IMAGE = /^images\/((closed|dependencies)\/[^/]+|(?!(closed|dependencies)\/)[^/]+)\/./;
/**
 * Files with which Postgres makes links, follows another server, or takes a process of the machine for
 * itself.
 */
const OF_A_SERVER = new Set(['tablespace_map', 'postmaster.pid', 'recovery.signal', 'standby.signal']);

function isDraft(path: string): boolean {
  return DRAFT.test(path);
}

function isOfImages(path: string): boolean {
  return !NOT_AN_IMAGE.test(path);
}

function isOfFiles(path: string): boolean {
  const [first = ''] = path.split('/');
  return !isDraft(path) && (FILES.includes(first) || /^node\/[^/]+$/.test(path));
}

/**
 * Allowed entries of a part, by its kind: the paths in the data folder that "agentplane backup" copies into
 * it. A forged backup can name any path in any part: a link in place of a folder of the platform, or a file
 * that names folders elsewhere (`postgres.location`), would be followed by programs that may be root.
 */
const MAY_HOLD: Readonly<Record<string, (kind: TarEntry['kind'], path: string) => boolean>> = {
  // places of objects are made of their keys
  objects: (kind) => kind !== 'link',
  changes: (kind) => kind !== 'link',
  databases: (kind, path) => kind !== 'link' && !OF_A_SERVER.has(path),
  images: (kind, path) =>
    (path === 'images' && kind === 'folder') ||
    (path.startsWith('images/') && isOfImages(path) && (kind !== 'link' || IN_IMAGE.test(path))),
  files: (kind, path) => kind !== 'link' && isOfFiles(path),
  audit: (kind, path) => kind !== 'link' && path.startsWith('logs/audit'),
};

/** `changes` of `changes-0001`. */
export function kindOfPart({ name }: { readonly name: string }): string {
  return name.replace(/-.*/, '');
}

/**
 * The same items.
 * @param part its kind
 * @throws Error at the first that does not belong into such a part
 */
export async function* onlyOf(part: string, items: AsyncIterable<TarItem>): AsyncGenerator<TarItem> {
  for await (const item of items) {
    const { kind, path } = item.entry;
    // Postgres begins some with a dot
    if (!MAY_HOLD[part]?.(kind, normalize(path)))
      throw new Error(
        `the part ${part} of a backup holds no ${kind} at ${JSON.stringify(path)}: ${
          kind === 'link'
            ? 'put the file or folder itself in the place of the link'
            : 'the part was not made by "agentplane backup"'
        }`,
      );
    yield item;
  }
}

/** Bytes of all files of some items, none of which is read. */
export async function sumOfFiles(items: AsyncIterable<TarItem>): Promise<number> {
  let bytes = 0;
  for await (const { entry } of items) bytes += entry.bytes;
  return bytes;
}

/** The image store; its index first, since contents that it names are older than it. */
export async function* imageItems({ root }: DataPaths): AsyncGenerator<TarItem> {
  yield* folderItems(root, 'images/index.json');
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
  for (const name of names.sort()) if (name.startsWith('audit')) yield* folderItems(root, `logs/${name}`);
}
