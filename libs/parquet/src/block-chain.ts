const BLOCK_BYTES = 64 << 10;

/**
 * Blocks of one size that are used again and again. Compressed pages of every size come and go with each row group;
 * allocated one by one they left the process's memory in pieces and made it grow with the length of the export.
 */
export class BlockPool {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  give(block: Buffer): void {
    this.#free.push(block);
  }
}

/** Bytes that wait, in order, in blocks of a pool. */
export class BlockChain {
  readonly #pool: BlockPool;
  readonly #blocks: Buffer[] = [];
  #last: Buffer | undefined;
  #filled = 0;
  #length = 0;

  constructor(pool: BlockPool) {
    this.#pool = pool;
  }

  get length(): number {
    return this.#length;
  }

  append(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      if (!this.#last || this.#filled === this.#last.length) {
        this.#last = this.#pool.take();
        this.#blocks.push(this.#last);
        this.#filled = 0;
      }
      const copied = bytes.copy(this.#last, this.#filled, at);
      this.#filled += copied;
      at += copied;
    }
    this.#length += bytes.length;
  }

  /** Hands everything on and is empty afterwards. */
  async drain(sink: (bytes: Buffer) => Promise<void>): Promise<void> {
    for (const block of this.#blocks) {
      await sink(block === this.#last ? block.subarray(0, this.#filled) : block);
      this.#pool.give(block);
    }
    this.#blocks.length = 0;
    this.#last = undefined;
    this.#length = 0;
  }
}
