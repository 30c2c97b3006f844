/** Bytes that a log may hold. */
interface Keepable {
  /** A log holds them and counts them. */
  readonly isKept: boolean;
  /** Answers a function that stops the listening. */
  onceDropped(listener: () => void): () => void;
}

/**
 * Bytes that a reader is sent for one event: those made for it alone, around those that all readers share.
 */
export interface OutgoingFrame {
  readonly event: string;
  readonly head?: Buffer;
  readonly frame: Buffer;
  readonly tail?: Buffer;
  /** Holds `frame`; undefined: it was made for this reader. */
  readonly of?: Keepable | undefined;
}

/** Bytes of all of it. */
export function sizeOf({ head, frame, tail }: OutgoingFrame): number {
  return (head?.length ?? 0) + frame.length + (tail?.length ?? 0);
}

/** Parts of a frame in their order. */
export function partsOf({ head, frame, tail }: OutgoingFrame): Buffer[] {
  return [head, frame, tail].filter((part) => part !== undefined);
}
