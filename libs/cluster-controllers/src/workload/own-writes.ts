import { compareVersions, type Draft, type Informer, KubeUnreachableError } from '#lib/kube';
import type { KubeObject, ObjectMeta, OwnerReference, Pod, PodTemplate } from '#lib/resources';

/** Objects that were made, and why no more. */
export interface Made<T> {
  readonly made: readonly T[];
  readonly problem?: unknown;
}

/**
 * One, then two, then four … at a time, until one fails: what fails for all of them (a quota, a webhook) is asked once
 * and not 500 times, with a template of a megabyte each time.
 */
export async function makeSlowly<T>(count: number, make: () => Promise<T>): Promise<Made<T>> {
  const made: T[] = [];
  for (let batch = 1; made.length < count; batch *= 2) {
    const size = Math.min(batch, count - made.length);
    const outcomes = await Promise.allSettled(Array.from({ length: size }, make));
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') made.push(outcome.value);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) return { made, problem: failed.reason };
  }
  return { made };
}

/** A pod as a workload's template describes it; the API server completes its name. */
export function podOfTemplate(
  template: PodTemplate,
  owner: ObjectMeta,
  reference: OwnerReference,
): Draft<Pod> {
  return {
    metadata: {
      // 63 characters with the five that the server adds
      generateName: `${owner.name.slice(0, 57)}-`,
      ...(owner.namespace === undefined ? {} : { namespace: owner.namespace }),
      labels: { ...template.metadata?.labels },
      annotations: { ...template.metadata?.annotations },
      finalizers: [...(template.metadata?.finalizers ?? [])],
      ownerReferences: [reference],
    },
    spec: template.spec,
  };
}

/**
 * Remembers the writes of a controller for each of its objects, so that it never decides on a cache that does
 * not show its own writes yet (and creates twice). A write without an answer may have happened, and makes the
 * next pass read the API server itself.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #versions = new Map<string, string>();
  readonly #doubted = new Set<string>();

  constructor(private readonly informer: Informer<T>) {}

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
      await this.informer.waitFor(version, 5_000);
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
