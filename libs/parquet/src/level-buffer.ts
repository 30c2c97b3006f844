import { HEADROOM, type PageBuffer } from './page.js';
import { encodeHybrid, hybridBound } from './rle-hybrid.js';

/**
 * Definition and repetition levels of the open page: the missing part (0 the list or value, then the
 * element), and whether a list continues (1) or begins (0).
 */
export class LevelBuffer {
  readonly maxDefinition: number;
  readonly #repeats: boolean;
  #definitions = new Uint8Array(1024);
  #repetitions = new Uint8Array(1024);
  #count = 0;

  constructor(maxDefinition: number, repeats: boolean) {
    this.maxDefinition = maxDefinition;
    this.#repeats = repeats;
  }

  get count(): number {
    return this.#count;
  }

  add(definition: number, repetition: number): void {
    if (this.#count === this.#definitions.length) {
      this.#definitions = grown(this.#definitions);
      this.#repetitions = grown(this.#repetitions);
    }
    this.#definitions[this.#count] = definition;
    this.#repetitions[this.#count++] = repetition;
  }

  /**
   * The body of a page: levels, then its values. The levels usually fit into the space that the page keeps
   * free before its values. Starts over.
   */
  putBefore(page: PageBuffer): Buffer {
    const levels = this.take();
    const start = HEADROOM - levels.length;
    if (start < 0) return Buffer.concat([levels, page.bytes.subarray(HEADROOM, page.length)]);
    levels.copy(page.bytes, start);
    return page.bytes.subarray(start, page.length);
  }

  /** The levels alone. Starts over. */
  take(): Buffer {
    const levels = this.#render();
    this.#count = 0;
    return levels;
  }

  #render(): Buffer {
    if (this.maxDefinition === 0) return Buffer.alloc(0);
    const bytes = Buffer.allocUnsafe(2 * (4 + hybridBound(this.#count, 2)));
    let end = 0;
    if (this.#repeats) end = this.#put(this.#repetitions, 1, bytes, end);
    end = this.#put(this.#definitions, this.maxDefinition, bytes, end);
    return bytes.subarray(0, end);
  }

  #put(levels: Uint8Array, max: number, bytes: Buffer, offset: number): number {
    const end = encodeHybrid(levels, this.#count, max > 1 ? 2 : 1, bytes, offset + 4);
    bytes.writeUInt32LE(end - offset - 4, offset);
    return end;
  }
}

function grown(levels: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * levels.length);
  larger.set(levels);
  return larger;
}
