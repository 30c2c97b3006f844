/** One thing in a tar. */
export interface TarEntry {
  readonly kind: 'file' | 'folder' | 'link';
  /** Relative, with slashes. */
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  /** Size of the content; 0 for an entry that is no file. */
  readonly bytes: number;
  readonly modifiedMs: number;
  /** Target of a link. */
  readonly target?: string;
  /** Facts for which tar has no field, in a record of our own that other programs skip. */
  readonly note?: string;
}

/** An entry with its content. */
export interface TarItem {
  readonly entry: TarEntry;
  readonly body: AsyncIterable<Buffer>;
}

export const BLOCK_BYTES = 512;

/** Bytes that fill the last block of a content. */
export function paddingOf(bytes: number): number {
  return (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

/** Nothing: the content of folders and links. */
export async function* noBody(): AsyncGenerator<Buffer> {
  // no bytes
}
