import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import {
  lstat,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Checksum } from './checksum.js';
import { folderCandidates, keySegments, objectCandidates } from './key-path.js';
import { S3Error } from './s3-error.js';
import { isMissing, type StoreFolder, syncFolder } from './store-folder.js';

/** Metadata of an object. */
export interface ObjectFacts {
  /** Etag without quotation marks. */
  readonly etag: string;
  /** Lower-case header names: content type, user metadata, … */
  readonly headers: Readonly<Record<string, string>>;
  /** The checksum that its client stated and that was compared. */
  readonly checksum?: Checksum | undefined;
}

export interface ObjectInfo extends ObjectFacts {
  readonly size: number;
  readonly lastModified: Date;
}

/** Conditions that must hold at the moment when an object takes its place. */
export interface WriteCondition {
  readonly onlyIfAbsent?: boolean;
  readonly onlyIfEtag?: string;
}

/**
 * Objects as plain files. The metadata of one are stored beside the buckets, under a name made of the key and
 * of the file's own size and time: they are written first, and the rename of the file makes both valid at
 * once. A file without metadata (put there by hand, or restored from a copy that lost times) is served too,
 * with an etag made of its size and time. A link is no object, and no folder for a new key.
 */
export class ObjectFiles {
  constructor(private readonly folder: StoreFolder) {}

  /** Moves a written file to its key. @throws S3Error (PreconditionFailed, KeyTooLongError) */
  async put(
    bucket: string,
    key: string,
    temporaryPath: string,
    facts: ObjectFacts,
    condition: WriteCondition,
  ): Promise<void> {
    await this.folder.alone(bucket, async () => {
      const before = await this.#find(bucket, key);
      await this.#check(bucket, key, before, condition);
      const written = await stat(temporaryPath, { bigint: true });
      await writeFile(this.#factsPath(bucket, key, written), JSON.stringify(facts), { mode: 0o600 });
      const path = before?.path ?? (await this.#makePlace(bucket, key));
      await rename(temporaryPath, path);
      await syncFolder(dirname(path));
      if (before && before.stats.mtimeNs !== written.mtimeNs)
        await rm(this.#factsPath(bucket, key, before.stats), { force: true });
    });
  }

  async stat(bucket: string, key: string): Promise<ObjectInfo | undefined> {
    const found = await this.#find(bucket, key);
    return found && this.#info(bucket, key, found.stats);
  }

  /** The caller closes the handle; it keeps reading the same bytes when the object is replaced. */
  async open(bucket: string, key: string): Promise<{ info: ObjectInfo; handle: FileHandle } | undefined> {
    const found = await this.#find(bucket, key);
    if (!found) return undefined;
    let handle: FileHandle;
    try {
      handle = await open(found.path, 'r');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    try {
      return { info: await this.#info(bucket, key, await handle.stat({ bigint: true })), handle };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Facts of a file that a listing came upon. */
  async infoAt(bucket: string, key: string, path: string): Promise<ObjectInfo | undefined> {
    const stats = await statFile(path);
    return stats && this.#info(bucket, key, stats);
  }

  async delete(bucket: string, key: string): Promise<void> {
    await this.folder.alone(bucket, async () => {
      const found = await this.#find(bucket, key);
      if (!found) return;
      await rm(found.path, { force: true });
      await rm(this.#factsPath(bucket, key, found.stats), { force: true });
      const root = this.folder.bucketPath(bucket);
      for (let parent = dirname(found.path); parent !== root; parent = dirname(parent)) {
        if (!(await rmdir(parent).then(yes, no))) return;
      }
    });
  }

  async #check(
    bucket: string,
    key: string,
    found: { stats: BigIntStats } | undefined,
    condition: WriteCondition,
  ): Promise<void> {
    const etag = found && (await this.#info(bucket, key, found.stats)).etag;
    const isMet =
      (!condition.onlyIfAbsent || !found) &&
      (condition.onlyIfEtag === undefined || condition.onlyIfEtag === etag);
    if (!isMet)
      throw new S3Error(
        'PreconditionFailed',
        'At least one of the pre-conditions you specified did not hold.',
      );
  }

  async #find(bucket: string, key: string): Promise<{ path: string; stats: BigIntStats } | undefined> {
    const segments = keySegments(key);
    const usual = join(this.folder.bucketPath(bucket), ...segments);
    const stats = await statFile(usual);
    if (stats) return { path: usual, stats };
    let parent = this.folder.bucketPath(bucket);
    for (const segment of segments.slice(0, -1)) {
      const found = await firstFolder(folderCandidates(parent, segment));
      if (found === undefined) return undefined;
      parent = found;
    }
    for (const path of objectCandidates(parent, segments.at(-1) ?? '')) {
      const found = await statFile(path);
      if (found) return { path, stats: found };
    }
    return undefined;
  }

  /** Makes the folders of a new key and returns the path of its file. */
  async #makePlace(bucket: string, key: string): Promise<string> {
    const segments = keySegments(key);
    let parent = this.folder.bucketPath(bucket);
    for (const segment of segments.slice(0, -1)) {
      const candidates = folderCandidates(parent, segment);
      let folder = await firstFolder(candidates);
      if (folder === undefined) {
        folder = (await statFile(candidates[0])) ? candidates[1] : candidates[0];
        await mkdir(folder);
        await syncFolder(parent);
      }
      parent = folder;
    }
    const [usual, beside] = objectCandidates(parent, segments.at(-1) ?? '');
    return (await firstFolder([usual])) === undefined ? usual : beside;
  }

  async #info(bucket: string, key: string, stats: BigIntStats): Promise<ObjectInfo> {
    const size = Number(stats.size);
    const facts = await readFacts(this.#factsPath(bucket, key, stats));
    const etag = createHash('md5').update(`${stats.size}.${stats.mtimeNs}`).digest('hex');
    return { size, lastModified: stats.mtime, ...(facts ?? { etag: `${etag}-1`, headers: {} }) };
  }

  #factsPath(bucket: string, key: string, stats: BigIntStats): string {
    const hash = createHash('sha256').update(key).digest('hex').slice(0, 40);
    return join(this.folder.factsPath(bucket), `${hash}-${stats.mtimeNs.toString(36)}-${stats.size}.json`);
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;

async function statFile(path: string): Promise<BigIntStats | undefined> {
  const found = await lstat(path, { bigint: true }).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  return found?.isFile() ? found : undefined;
}

async function firstFolder(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const found = await lstat(path).catch(() => undefined);
    if (found?.isDirectory()) return path;
  }
  return undefined;
}

async function readFacts(path: string): Promise<ObjectFacts | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ObjectFacts;
  } catch {
    return undefined; // no facts, or half of them after a power cut: the bytes still count
  }
}
