import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { errorText } from '#lib/errors';
import { readTar, type TarItem } from '#lib/tar';
import { type Clock, systemClock } from '#lib/time';
import { BuildError } from './build-error.js';
import { type BuilderConfig, MAX_ENTRIES } from './config.js';
import { emptySourceFolder, requireGraphConfig } from './fetch-source.js';
import { print } from './print.js';

const ATTEMPTS = 5;
const PAUSE_MS = 2_000;
const MEGABYTE = 1_048_576;
/** Headers, records and padding of an entry beside its content; more is an archive of headers alone. */
const OVERHEAD_BYTES = 2_048;
const SHOWN = 200;

export interface UnpackLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
}

/**
 * Fetches an uploaded archive and unpacks it into `source`; ends when the signal is aborted.
 * @throws BuildError when it cannot be read or is larger than an image may be, and for entries that are not
 * files and folders below the source
 */
export async function fetchArchive(
  config: BuilderConfig & { readonly archive: string },
  signal: AbortSignal,
): Promise<void> {
  const folder = emptySourceFolder();
  print('fetching the uploaded archive');
  const body = await request(config, signal);
  const limits = { maxBytes: config.imageMegabytes * MEGABYTE, maxEntries: MAX_ENTRIES };
  await unpackArchive(body, folder, limits, signal);
  requireGraphConfig(folder, config, 'the archive');
  print('fetched');
}

/** The platform's api may be restarting. */
async function request(
  { archive, token }: BuilderConfig & { readonly archive: string },
  signal: AbortSignal,
  clock: Pick<Clock, 'sleep'> = systemClock,
): Promise<Readable> {
  const headers = token === undefined ? {} : { 'x-api-key': token };
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(archive, { headers, signal, redirect: 'error' }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      return errorText(error);
    });
    const status = typeof answer === 'string' ? 503 : answer.status;
    if (typeof answer !== 'string' && answer.ok && answer.body) return Readable.fromWeb(answer.body);
    if (status === 404) throw new BuildError('the archive does not exist any more; upload it again');
    const isPassing = status === 429 || status === 503;
    if (!isPassing || attempt === ATTEMPTS)
      throw new BuildError(
        `fetching the archive failed: ${typeof answer === 'string' ? answer : `the api answered with status ${status}`}; request a new revision`,
      );
    await clock.sleep(PAUSE_MS, signal);
  }
}

/**
 * Unpacks a tar.gz into an empty folder. It makes files and folders only, each once, so that nothing can lead
 * out of the folder.
 * @throws BuildError
 */
export async function unpackArchive(
  packed: Readable,
  folder: string,
  limits: UnpackLimits,
  signal: AbortSignal,
): Promise<void> {
  const unpacking = new Unpacking(folder, limits);
  try {
    await pipeline(
      packed,
      createGunzip(),
      async (unzipped: AsyncIterable<Buffer>) => {
        for await (const item of readTar(unpacking.counted(unzipped))) await unpacking.add(item);
      },
      { signal },
    );
  } catch (error) {
    if (error instanceof BuildError || signal.aborted) throw error;
    throw new BuildError(`the archive cannot be unpacked: ${errorText(error)}; upload a tar.gz`, {
      cause: error,
    });
  }
}

class Unpacking {
  readonly #folders = new Set<string>();
  #files = 0;
  #bytes = 0;

  constructor(
    private readonly folder: string,
    private readonly limits: UnpackLimits,
  ) {}

  /** Hands on what was unzipped: a small archive may have any number of zeros. */
  async *counted(unzipped: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { maxBytes, maxEntries } = this.limits;
    let left = maxBytes + maxEntries * OVERHEAD_BYTES;
    for await (const piece of unzipped) {
      left -= piece.length;
      if (left < 0) throw this.#tooLarge();
      yield piece;
    }
  }

  async add({ entry, body }: TarItem): Promise<void> {
    const path = requireInside(entry.path);
    if (entry.kind === 'link')
      throw new BuildError(
        `${shown(path)} is a symbolic link, and archives may have files and folders only; replace it by a copy`,
      );
    if (entry.kind === 'folder') return this.#makeFolder(path);
    this.#makeFolder(dirname(path));
    this.#files++;
    this.#requireFew();
    this.#bytes += entry.bytes;
    if (this.#bytes > this.limits.maxBytes) throw this.#tooLarge();
    const isProgram = (entry.mode & 0o100) !== 0;
    const file = createWriteStream(join(this.folder, path), {
      flags: 'wx',
      mode: isProgram ? 0o755 : 0o644,
    });
    try {
      await once(file, 'open');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new BuildError(`${shown(path)} is in the archive twice`, { cause: error });
    }
    await pipeline(body, file);
  }

  #makeFolder(path: string): void {
    if (path === '.' || path === '' || this.#folders.has(path)) return;
    this.#makeFolder(dirname(path));
    this.#folders.add(path);
    this.#requireFew();
    mkdirSync(join(this.folder, path), { mode: 0o755 });
  }

  #requireFew(): void {
    const { maxEntries } = this.limits;
    if (this.#files + this.#folders.size > maxEntries)
      throw new BuildError(`the archive has more than ${maxEntries} files and folders, the most of an image`);
  }

  #tooLarge(): BuildError {
    const megabytes = Math.floor(this.limits.maxBytes / MEGABYTE);
    return new BuildError(
      `the archive unpacks to more than ${megabytes} MB, the size of the largest image; leave large files out of it`,
    );
  }
}

/** The path in its shortest form. */
function requireInside(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (path.startsWith('/') || path.includes('\0') || parts.includes('..'))
    throw new BuildError(`${shown(path)} leads out of the archive; pack the folder with relative paths`);
  return parts.join('/');
}

function shown(path: string): string {
  const text = JSON.stringify(path);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
