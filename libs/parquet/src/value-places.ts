import { randomInt } from 'node:crypto';

/** A multiplier of FNV-1a. */
const PRIME = 0x01_00_01_93;
/** Basis of the hash, different in each process: values cannot be chosen to have equal hashes. */
const BASIS = randomInt(2 ** 32) | 0;
const FIRST_SLOTS = 256;
const FIRST_BYTES = 4 << 10;
/** Longer values are compared by a call out of JavaScript, which shorter ones are not worth. */
const LONG_BYTES = 64;

/**
 * Distinct values and the number of each, in order of appearance. Bytes are compared in place: a string for
 * each look-up, as keys of a Map need it, cost more than everything else that is done with a value of a
 * dictionary.
 */
export class ValuePlaces {
  /** Number of a value plus one; 0 is free. A power of two of them, at most half of which are taken. */
  #slots = new Int32Array(FIRST_SLOTS);
  #hashes = new Int32Array(FIRST_SLOTS / 2);
  /** End of each value in `#bytes`; it begins where the one before ends. */
  #ends = new Int32Array(FIRST_SLOTS / 2);
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of a value, which is the size before when it is new. */
  place(source: Buffer, at: number, length: number): number {
    const hash = hashOf(source, at, length);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let taken = this.#slots[slot] ?? 0; taken !== 0; taken = this.#slots[slot] ?? 0) {
      const number = taken - 1;
      if (this.#hashes[number] === hash && this.#isAt(number, source, at, length)) return number;
      slot = (slot + 1) & mask;
    }
    this.#slots[slot] = this.#size + 1;
    return this.#add(hash, source, at, length);
  }

  clear(): void {
    this.#slots.fill(0);
    this.#size = 0;
  }

  #isAt(number: number, source: Buffer, at: number, length: number): boolean {
    const start = number === 0 ? 0 : (this.#ends[number - 1] ?? 0);
    const end = this.#ends[number] ?? 0;
    if (end - start !== length) return false;
    const bytes = this.#bytes;
    if (length > LONG_BYTES) return bytes.compare(source, at, at + length, start, end) === 0;
    for (let n = 0; n < length; n++) if (bytes[start + n] !== source[at + n]) return false;
    return true;
  }

  #add(hash: number, source: Buffer, at: number, length: number): number {
    const number = this.#size++;
    const start = number === 0 ? 0 : (this.#ends[number - 1] ?? 0);
    if (start + length > this.#bytes.length) this.#widen(start + length);
    source.copy(this.#bytes, start, at, at + length);
    this.#ends[number] = start + length;
    this.#hashes[number] = hash;
    if (2 * this.#size >= this.#slots.length) this.#grow();
    return number;
  }

  #widen(needed: number): void {
    const wider = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, needed));
    this.#bytes.copy(wider);
    this.#bytes = wider;
  }

  #grow(): void {
    const slots = new Int32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let number = 0; number < this.#size; number++) {
      let slot = (this.#hashes[number] ?? 0) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
    this.#hashes = grown(this.#hashes);
    this.#ends = grown(this.#ends);
  }
}

function hashOf(source: Buffer, at: number, length: number): number {
  let hash = BASIS ^ length;
  for (let n = at; n < at + length; n++) hash = Math.imul(hash ^ (source[n] ?? 0), PRIME);
  // the low bits alone choose a slot
  return hash ^ (hash >>> 15);
}

function grown(values: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * values.length);
  larger.set(values);
  return larger;
}
