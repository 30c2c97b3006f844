import { normalize } from 'node:path';
import type { TarEntry, TarItem } from '#lib/tar';

/** Small files: what a start writes anew is among them where addresses or keys depend on it. */
export const FILES = ['format.json', 'credentials.json', 'ports.json', 'kubeconfig', 'secrets', 'kube'];
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

export function isDraft(path: string): boolean {
  return DRAFT.test(path);
}

export function isOfImages(path: string): boolean {
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
