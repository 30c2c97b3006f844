/** Record of a part in `backup.json`. */
export interface PartRecord {
  /** `databases`, `objects-0001`, … */
  readonly name: string;
  /** Name of its file in the backup. */
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 of each piece of `PIECE_BYTES` of the stored file, hex. */
  readonly pieces: readonly string[];
  /** Id in hex; a key of its own where the backup is encrypted. */
  readonly id: string;
  readonly entries: number;
  /** Unpacked, without the tar around it. */
  readonly contentBytes: number;
  /** Last object in a part with objects, after which the next part begins. */
  readonly last?: { readonly bucket: string; readonly key: string };
}

/** Size of a piece, before a seal makes it longer. */
export const PIECE_BYTES = 4 << 20;
