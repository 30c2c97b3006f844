import { randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { S3Error } from './s3-error.js';

const BUCKET_NAME = /^(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** Name of the store's own folder, which no bucket can have. */
const OWN = '.store';

/** True for errors of the file system that mean "nothing there". */
export function isMissing(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Makes a rename durable: the new name is stored in the folder, not in the file. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder with the folders above it.
 * @throws Error when a link or a file has its place: a rename to behind a link would not be atomic, and lead
 * out of the store
 */
async function ensureFolder(path: string): Promise<'created' | 'existed'> {
  const made = await mkdir(path, { recursive: true });
  if (!(await lstat(path)).isDirectory())
    throw new Error(`${path} is a link: put the folder itself in its place`);
  return made === undefined ? 'existed' : 'created';
}

/**
 * The folders of the store: one for each bucket, and the store's own for unfinished files and metadata of
 * objects. All are under one root, so that a rename is atomic. One process owns the root.
 */
export class StoreFolder {
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(private readonly root: string) {}

  /** Removes the unfinished files of a killed process. */
  async prepare(): Promise<void> {
    const own = join(this.root, OWN);
    await ensureFolder(own);
    await rm(join(own, 'tmp'), { recursive: true, force: true });
    for (const name of ['tmp', 'facts', 'uploads']) await ensureFolder(join(own, name));
  }

  bucketPath(bucket: string): string {
    return join(this.root, bucket);
  }

  factsPath(bucket: string): string {
    return join(this.root, OWN, 'facts', bucket);
  }

  uploadsPath(bucket: string): string {
    return join(this.root, OWN, 'uploads', bucket);
  }

  temporaryPath(): string {
    return join(this.root, OWN, 'tmp', randomBytes(12).toString('hex'));
  }

  /** Serialises work with the same key: checking and renaming are two steps. */
  async alone<T>(word: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(word) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#queues.set(word, mine);
    try {
      return await mine;
    } finally {
      if (this.#queues.get(word) === mine) this.#queues.delete(word);
    }
  }

  async createBucket(bucket: string): Promise<'created' | 'existed'> {
    if (!BUCKET_NAME.test(bucket)) throw new S3Error('InvalidBucketName', 'The bucket name is not valid.');
    const made = await ensureFolder(this.bucketPath(bucket));
    await ensureFolder(this.factsPath(bucket));
    await ensureFolder(this.uploadsPath(bucket));
    return made;
  }

  /** @throws S3Error (NoSuchBucket) */
  async requireBucket(bucket: string): Promise<void> {
    if (!BUCKET_NAME.test(bucket)) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist.');
    const found = await lstat(this.bucketPath(bucket)).catch(() => undefined);
    if (!found?.isDirectory()) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist.');
  }

  /** @throws S3Error (NoSuchBucket, BucketNotEmpty) */
  async deleteBucket(bucket: string): Promise<void> {
    await this.requireBucket(bucket);
    await rmdir(this.bucketPath(bucket)).catch(() => {
      throw new S3Error('BucketNotEmpty', 'The bucket you tried to delete is not empty.');
    });
    await rm(this.factsPath(bucket), { recursive: true, force: true });
    await rm(this.uploadsPath(bucket), { recursive: true, force: true });
  }

  async listBuckets(): Promise<{ name: string; createdAt: Date }[]> {
    const entries = await readdir(this.root, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory() && BUCKET_NAME.test(entry.name));
    return Promise.all(
      names.map(async ({ name }) => ({ name, createdAt: (await stat(join(this.root, name))).birthtime })),
    );
  }
}
