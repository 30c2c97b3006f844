interface Entry<Value> {
  readonly value: Value;
  readonly bytes: number;
}

/** Values that were used last, as many as fit into a number of bytes. */
export class BoundedCache<Value> {
  readonly #mostBytes: number;
  /** The value that was not used for the longest time comes first. */
  readonly #entries = new Map<string, Entry<Value>>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** A value that is larger than the cache is not kept. */
  set(key: string, value: Value, bytes: number): void {
    this.#delete(key);
    if (bytes > this.#mostBytes) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}
