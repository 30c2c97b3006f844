declare module 'snappyjs' {
  /** Compresses in the calling thread. */
  export function compress(data: Uint8Array): Uint8Array;
}
