/** What `backup.json` knows of a part. */
export interface PartRecord {
  /** `databases`, `objects-0001`, … */
  readonly name: string;
  /** Name of its file in the backup. */
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 of each piece of `PIECE_BYTES`, hex; of what lies in the file. */
  readonly pieces: readonly string[];
  /** In hex; a key of its own where the backup is encrypted. */
  readonly id: string;
  readonly entries: number;
  /** Unpacked, without the tar around it. */
  readonly contentBytes: number;
  /** Of a part with objects: the last one in it, where the next part begins. */
  readonly last?: { readonly bucket: string; readonly key: string };
}

/** Of a part, before a seal makes it longer. */
export const PIECE_BYTES = 4 << 20;
