import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectFiles, WriteCondition } from './object-files.js';
import { S3Error } from './s3-error.js';
import type { StoreFolder } from './store-folder.js';
import { joinFiles, writeFileFrom } from './written-file.js';

const MIN_PART_BYTES = 5 << 20;
const READ_AT_ONCE = 64;
/** Maximum number of open uploads per bucket: a list of them reads each. They expire after a week. */
const MAX_OPEN = 1_000;
/**
 * Maximum number of open uploads per user in a bucket, which others share: many more than exports of a
 * machine have at work.
 */
const MAX_OPEN_OF_USER = 200;
const PART_NAME = /^(\d{5})-([0-9a-f]{32})-(\d+)$/;

export interface OpenUpload {
  readonly uploadId: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  /** ISO 8601. */
  readonly initiated: string;
}

export interface StoredPart {
  readonly number: number;
  readonly etag: string;
  readonly size: number;
  readonly lastModified: Date;
  readonly path: string;
}

/**
 * Uploads in parts: a folder for each, `upload.json` and one file for each part, named NUMBER-MD5-SIZE. Parts are not
 * forced to the disk: completing copies and syncs them, and one that a power cut shortened no longer has its size.
 */
export class MultipartFiles {
  constructor(
    private readonly folder: StoreFolder,
    private readonly objects: ObjectFiles,
  ) {}

  /**
   * @param accessKeyId of the user who starts it
   * @throws S3Error (SlowDown) when too many are open
   */
  async start(
    bucket: string,
    { key, headers, accessKeyId }: Pick<OpenUpload, 'key' | 'headers'> & { accessKeyId: string },
    now: Date,
  ): Promise<string> {
    const owner = ownerPart(accessKeyId);
    const uploadId = randomBytes(12).toString('hex') + owner;
    const upload: OpenUpload = { uploadId, key, headers, initiated: now.toISOString() };
    const path = this.#path(bucket, uploadId);
    await this.folder.alone(`uploads of ${bucket}`, async () => {
      const open = await readdir(this.folder.uploadsPath(bucket)).catch(() => []);
      if (open.length >= MAX_OPEN)
        throw new S3Error('SlowDown', `${MAX_OPEN} uploads of the bucket are open; complete or abort some.`);
      if (open.filter((id) => id.endsWith(owner)).length >= MAX_OPEN_OF_USER)
        throw new S3Error(
          'SlowDown',
          `${MAX_OPEN_OF_USER} uploads of the user are open; complete or abort some.`,
        );
      await mkdir(path, { recursive: true });
    });
    await writeFile(join(path, 'upload.json'), JSON.stringify(upload), { mode: 0o600 });
    return uploadId;
  }

  /** @throws S3Error (NoSuchUpload) */
  async get(bucket: string, key: string, uploadId: string): Promise<OpenUpload> {
    const upload = /^[0-9a-f]{32}$/.test(uploadId) ? await this.#read(bucket, uploadId) : undefined;
    if (upload?.key !== key)
      throw new S3Error('NoSuchUpload', 'The upload does not exist: it may have been aborted or completed.');
    return upload;
  }

  /** Uploads in order of key, then of id. */
  async list(bucket: string, prefix: string): Promise<OpenUpload[]> {
    const ids = await readdir(this.folder.uploadsPath(bucket)).catch(() => []);
    const uploads: OpenUpload[] = [];
    // some at a time: others may have begun any number in this bucket
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      const read = await Promise.all(ids.slice(at, at + READ_AT_ONCE).map((id) => this.#read(bucket, id)));
      for (const upload of read) if (upload?.key.startsWith(prefix)) uploads.push(upload);
    }
    return uploads.sort(
      (a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)) || (a.uploadId < b.uploadId ? -1 : 1),
    );
  }

  /** Replaces an earlier part of that number. @throws S3Error (NoSuchUpload) when the upload ended meanwhile */
  async putPart(
    bucket: string,
    upload: OpenUpload,
    number: number,
    pieces: AsyncIterable<Buffer>,
    check: (md5: string) => void,
  ): Promise<string> {
    const part = await writeFileFrom(this.folder.temporaryPath(), pieces, false);
    const folder = this.#path(bucket, upload.uploadId);
    try {
      check(part.md5);
      await this.#alone(upload, async () => {
        await this.get(bucket, upload.key, upload.uploadId);
        const older = await this.#partsOf(folder, number);
        const path = join(folder, `${String(number).padStart(5, '0')}-${part.md5}-${part.size}`);
        await rename(part.path, path);
        for (const stored of older) if (stored.path !== path) await rm(stored.path, { force: true });
      });
    } finally {
      await rm(part.path, { force: true });
    }
    return part.md5;
  }

  async parts(bucket: string, upload: OpenUpload): Promise<StoredPart[]> {
    return this.#partsOf(this.#path(bucket, upload.uploadId));
  }

  /** @throws S3Error (InvalidPart, InvalidPartOrder, EntityTooSmall, PreconditionFailed, NoSuchUpload) */
  async complete(
    bucket: string,
    upload: OpenUpload,
    wanted: readonly { number: number; etag: string }[],
    condition: WriteCondition,
  ): Promise<string> {
    return this.#alone(upload, async () => {
      await this.get(bucket, upload.key, upload.uploadId);
      const chosen = chooseParts(await this.parts(bucket, upload), wanted);
      const whole = this.folder.temporaryPath();
      await joinFiles(
        whole,
        chosen.map(({ path }) => path),
      );
      const md5s = Buffer.concat(chosen.map(({ etag }) => Buffer.from(etag, 'hex')));
      const etag = `${createHash('md5').update(md5s).digest('hex')}-${chosen.length}`;
      try {
        await this.objects.put(bucket, upload.key, whole, { etag, headers: upload.headers }, condition);
      } finally {
        await rm(whole, { force: true });
      }
      await this.#remove(bucket, upload.uploadId);
      return etag;
    });
  }

  async abort(bucket: string, upload: OpenUpload): Promise<void> {
    await this.#alone(upload, () => this.#remove(bucket, upload.uploadId));
  }

  /**
   * Removes uploads on which nothing has happened since, and the rest of half removed ones.
   * @returns their number
   */
  async expire(bucket: string, since: Date): Promise<number> {
    let removed = 0;
    for (const uploadId of await readdir(this.folder.uploadsPath(bucket)).catch(() => [])) {
      const isOld = (): Promise<boolean> => this.#isUntouched(bucket, uploadId, since);
      if (!(await isOld())) continue;
      await this.folder.alone(`upload ${uploadId}`, async () => {
        // a part may have come since
        if (!(await isOld())) return;
        await this.#remove(bucket, uploadId);
        removed++;
      });
    }
    return removed;
  }

  /** A part that is added or removed changes the folder. */
  async #isUntouched(bucket: string, uploadId: string, since: Date): Promise<boolean> {
    const found = await stat(this.#path(bucket, uploadId)).catch(() => undefined);
    return found !== undefined && found.mtime < since;
  }

  #alone<T>(upload: OpenUpload, work: () => Promise<T>): Promise<T> {
    return this.folder.alone(`upload ${upload.uploadId}`, work);
  }

  #path(bucket: string, uploadId: string): string {
    return join(this.folder.uploadsPath(bucket), uploadId);
  }

  /** `upload.json` is removed first: without it the rest is garbage, whatever happens next. */
  async #remove(bucket: string, uploadId: string): Promise<void> {
    const path = this.#path(bucket, uploadId);
    await rm(join(path, 'upload.json'), { force: true });
    await rm(path, { recursive: true, force: true });
  }

  async #read(bucket: string, uploadId: string): Promise<OpenUpload | undefined> {
    try {
      return JSON.parse(
        await readFile(join(this.#path(bucket, uploadId), 'upload.json'), 'utf8'),
      ) as OpenUpload;
    } catch {
      return undefined;
    }
  }

  /** @param only looks at the parts of this number alone */
  async #partsOf(folder: string, only?: number): Promise<StoredPart[]> {
    const newest = new Map<number, StoredPart>();
    for (const name of await readdir(folder).catch(() => [])) {
      const [, digits, etag, bytes] = PART_NAME.exec(name) ?? [];
      if (digits === undefined || etag === undefined || (only ?? Number(digits)) !== Number(digits)) continue;
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (found?.size !== Number(bytes)) continue;
      const part = { number: Number(digits), etag, size: found.size, lastModified: found.mtime, path };
      const other = newest.get(part.number);
      if (!other || other.lastModified < part.lastModified) newest.set(part.number, part);
    }
    return [...newest.values()].sort((a, b) => a.number - b.number);
  }
}

/** The suffix of the ids of a user's uploads, by which they are counted without reading each. */
function ownerPart(accessKeyId: string): string {
  return createHash('sha256').update(accessKeyId).digest('hex').slice(0, 8);
}

function chooseParts(
  stored: readonly StoredPart[],
  wanted: readonly { number: number; etag: string }[],
): StoredPart[] {
  const byNumber = new Map(stored.map((part) => [part.number, part]));
  if (wanted.length === 0) throw new S3Error('MalformedXML', 'At least one part must be named.');
  if (wanted.some(({ number }, index) => (wanted[index - 1]?.number ?? 0) >= number))
    throw new S3Error('InvalidPartOrder', 'The parts are not in ascending order.');
  return wanted.map(({ number, etag }, index) => {
    const part = byNumber.get(number);
    if (part?.etag !== etag)
      throw new S3Error('InvalidPart', `Part ${number} was not found, or has another etag.`);
    if (part.size < MIN_PART_BYTES && index < wanted.length - 1)
      throw new S3Error(
        'EntityTooSmall',
        `Part ${number} is smaller than the minimum of ${MIN_PART_BYTES} bytes.`,
      );
    return part;
  });
}
