import { compareVersions, KubeUnreachableError, type Informer } from '#lib/kube';
import type { KubeObject } from '#lib/resources';

/**
 * Remembers the writes of a controller for each of its objects, so that it never decides on a cache that does
 * not show its own writes yet (and creates twice). A write without an answer may have happened, and makes the
 * next pass read the API server itself.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #informer: Informer<T>;
  readonly #versions = new Map<string, string>();
  readonly #doubted = new Set<string>();

  constructor(informer: Informer<T>) {
    this.#informer = informer;
  }

  /** Runs a write for the object of this key and remembers what came of it. */
  async note(key: string, write: () => Promise<T>): Promise<T> {
    try {
      const written = await write();
      const version = written.metadata.resourceVersion ?? '';
      if (compareVersions(version, this.#versions.get(key) ?? '') > 0) this.#versions.set(key, version);
      return written;
    } catch (error) {
      if (error instanceof KubeUnreachableError) this.#doubted.add(key);
      throw error;
    }
  }

  /** A write without a version of its own, as a deletion: the next pass reads the API server itself. */
  doubt(key: string): void {
    this.#doubted.add(key);
  }

  /** `cache` when the cache shows all of them, waiting for it if need be; else `server`: read there. Asked once a pass. */
  async source(key: string): Promise<'cache' | 'server'> {
    if (this.#doubted.delete(key)) {
      this.#versions.delete(key);
      return 'server';
    }
    const version = this.#versions.get(key);
    if (version === undefined) return 'cache';
    try {
      await this.#informer.waitFor(version, 5_000);
      this.#versions.delete(key);
      return 'cache';
    } catch {
      return 'server';
    }
  }

  /** The object was deleted. */
  forget(key: string): void {
    this.#versions.delete(key);
    this.#doubted.delete(key);
  }
}
