import { createHash } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { INSTALLATION, packagesOf } from '#lib/data-folder';

/** Facts by which a caller may cache a file. */
export interface FileMark {
  /** Quoted, as in the header. */
  readonly tag: string;
  readonly bytes: number;
}

/** A file of an installed package. Its bytes are hashed once and streamed for each caller, never held. */
export class PackageFile {
  readonly #path: string;
  #mark: Promise<FileMark> | undefined;

  constructor(
    /** Path below `node_modules`. */
    path: string,
    readonly contentType: string,
  ) {
    this.#path = join(packagesOf(INSTALLATION), path);
  }

  mark(): Promise<FileMark> {
    this.#mark ??= this.#read();
    return this.#mark;
  }

  open(): ReadStream {
    return createReadStream(this.#path);
  }

  /** Packages carry the same time of change in every version, so the tag is of the bytes. */
  async #read(): Promise<FileMark> {
    try {
      const hash = createHash('sha256');
      await pipeline(this.open(), hash);
      return { tag: `"${hash.digest('base64url').slice(0, 27)}"`, bytes: (await stat(this.#path)).size };
    } catch (error) {
      // the next request tries again
      this.#mark = undefined;
      throw error;
    }
  }
}

/** True when one of the tags that a caller has (`If-None-Match`) is this one. */
export function hasTag(known: string | undefined, tag: string): boolean {
  return (known ?? '').split(',').some((one) => ['*', tag].includes(one.trim().replace(/^W\//, '')));
}
