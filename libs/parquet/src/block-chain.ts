const BLOCK_BYTES = 64 << 10;
/** Number of blocks that a usual row group needs; those of a row with huge values are released. */
const MAX_FREE_BLOCKS = 1024;

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
    if (this.#free.length < MAX_FREE_BLOCKS) this.#free.push(block);
  }
}

interface Block {
  readonly bytes: Buffer;
  filled: number;
}

/** Bytes that wait, in order, in blocks of a pool. */
export class BlockChain {
  #blocks: Block[] = [];
  #length = 0;

  constructor(private readonly pool: BlockPool) {}

  get length(): number {
    return this.#length;
  }

  append(bytes: Buffer): void {
    let last = this.#blocks.at(-1);
    for (let at = 0; at < bytes.length;) {
      if (!last || last.filled === last.bytes.length) {
        last = { bytes: this.pool.take(), filled: 0 };
        this.#blocks.push(last);
      }
      const copied = bytes.copy(last.bytes, last.filled, at);
      last.filled += copied;
      at += copied;
    }
    this.#length += bytes.length;
  }

  /** Takes the blocks of another chain over, which is empty afterwards. */
  adopt(other: BlockChain): void {
    for (const block of other.#blocks) this.#blocks.push(block);
    this.#length += other.#length;
    other.#blocks = [];
    other.#length = 0;
  }

  /** All bytes, in order. */
  *pieces(): Iterable<Buffer> {
    for (const { bytes, filled } of this.#blocks) yield bytes.subarray(0, filled);
  }

  /** Hands everything on and is empty afterwards. */
  async drain(sink: (bytes: Buffer) => Promise<void>): Promise<void> {
    for (const { bytes, filled } of this.#blocks) {
      await sink(bytes.subarray(0, filled));
      this.pool.give(bytes);
    }
    this.#blocks = [];
    this.#length = 0;
  }
}
