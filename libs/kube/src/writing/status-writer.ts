import { jsonEquals } from '#lib/json';
import { keyOf, type KubeObject, type ResourceRef } from '#lib/resources';
import { compareVersions } from '../informer/resource-version.js';
import { isConflict, isNotFound } from '../client/kube-api-error.js';
import type { KubeClient } from '../client/kube-client.js';
import type { Applied, Fields } from '../client/request-options.js';

/** An object with a status. */
export interface WithStatus extends KubeObject {
  readonly status?: object;
}

/** The fields of a status of which a writer owns some. */
export type StatusOf<T extends WithStatus> = Partial<NonNullable<T['status']>>;

export interface StatusWriterOptions {
  /** Default: the client's. One for each reconciler, since it owns exactly the fields it last applied. */
  readonly fieldManager?: string;
  /**
   * What an applied status must not be written over. `version`, the default: anything newer than the object that it was
   * computed from (Conflict, and the next pass computes anew), so that neither a cache that lags nor a leader that has
   * been replaced takes anything back. `uid`: only another object of the same name; for what is true of this one
   * whatever else its status says.
   */
  readonly guard?: 'version' | 'uid';
}

const MAX_CONFLICTS = 5;
/** Far more objects than have a write under way at a time. */
const MAX_REMEMBERED = 10_000;

/**
 * Writes statuses, and nothing when nothing changed. Objects come from caches, which may be behind this very writer: it
 * remembers the version it wrote, and an older one proves nothing about what stands on the server.
 */
export class StatusWriter {
  readonly #client: KubeClient;
  readonly #options: StatusWriterOptions;
  /** By uid, until the object is seen in this version or a newer one. */
  readonly #written = new Map<string, string>();
  /** By uid: a write whose answer never came may have happened. */
  readonly #doubted = new Set<string>();

  constructor(client: KubeClient, options: StatusWriterOptions = {}) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Server-side apply: afterwards our manager owns exactly these fields, and what it owned before and is not in `status`
   * is gone. For kinds whose condition lists are maps by type. No call is made when the object, as it was read, has
   * these very values; `owned` names top-level fields of ours that must be absent when `status` does not have them.
   * Answers the object as it was read when it is gone. What it may not be written over: see `guard`.
   */
  async apply<T extends WithStatus>(
    ref: ResourceRef<T>,
    object: NoInfer<T>,
    status: StatusOf<NoInfer<T>>,
    owned: readonly (keyof StatusOf<NoInfer<T>> & string)[] = [],
  ): Promise<T> {
    const before: Readonly<Record<string, unknown>> = { ...object.status };
    const next = status as Readonly<Record<string, unknown>>;
    const names = new Set([...Object.keys(next), ...owned]);
    const isDoubtful = this.#doubted.delete(object.metadata.uid ?? '') || this.isBehind(object);
    if (!isDoubtful && [...names].every((name) => jsonEquals(before[name], next[name]))) return object;
    try {
      const written = await this.#applyTo(ref, object, status);
      if (!written) return object;
      this.#remember(written);
      return written;
    } catch (error) {
      if (isNotFound(error)) return object;
      this.#doubted.add(object.metadata.uid ?? '');
      throw error;
    }
  }

  /** Undefined when the name belongs to another object by now. */
  async #applyTo<T extends WithStatus>(
    ref: ResourceRef<T>,
    object: T,
    status: StatusOf<T>,
  ): Promise<T | undefined> {
    const { guard = 'version', ...options } = this.#options;
    for (let current: T | undefined = object, conflicts = 0; current !== undefined;) {
      // a version is heeded for a status, a uid is not: not by any API server
      const { name, namespace, resourceVersion } = current.metadata;
      const applied = { metadata: { name, ...(namespace && { namespace }), resourceVersion }, status };
      try {
        // a literal cannot be shown to fit the fields of a type parameter
        return await this.#client.applyStatus<T>(ref, applied as unknown as Applied<T>, options);
      } catch (error) {
        if (guard === 'version' || !isConflict(error) || ++conflicts > MAX_CONFLICTS) throw error;
        current = await this.#findAgain(ref, object);
      }
    }
    return undefined;
  }

  /** The object as it is now; undefined when it is gone, whatever has its name. */
  async #findAgain<T extends KubeObject>(ref: ResourceRef<T>, object: T): Promise<T | undefined> {
    const found = await this.#client.find<T>(ref, keyOf(object));
    return found?.metadata.uid === object.metadata.uid ? found : undefined;
  }

  /** Whether this object, as it was read, does not show yet what this writer wrote last. */
  isBehind({ metadata: { uid = '', resourceVersion = '' } }: KubeObject): boolean {
    const written = this.#written.get(uid);
    if (written === undefined) return false;
    if (compareVersions(resourceVersion, written) < 0) return true;
    this.#written.delete(uid);
    return false;
  }

  #remember({ metadata: { uid = '', resourceVersion = '' } }: KubeObject): void {
    this.#written.delete(uid);
    this.#written.set(uid, resourceVersion);
    if (this.#written.size <= MAX_REMEMBERED) return;
    const [oldest = ''] = this.#written.keys();
    this.#written.delete(oldest);
  }

  /**
   * Merge patch of some fields, guarded by the version that they were computed from. When somebody wrote in between,
   * the object is read and `compute` asked again, so it must be a function of the object alone. `undefined` writes
   * nothing. Answers undefined when the object is gone.
   */
  async merge<T extends WithStatus>(
    ref: ResourceRef<T>,
    object: NoInfer<T>,
    compute: (object: NoInfer<T>) => Fields<StatusOf<NoInfer<T>>> | undefined,
  ): Promise<T | undefined> {
    for (let current: T | undefined = object, conflicts = 0; current !== undefined;) {
      const status = compute(current);
      if (status === undefined || isUnchanged(current.status, status)) return current;
      const patch = { metadata: { resourceVersion: current.metadata.resourceVersion }, status };
      try {
        return await this.#client.mergeStatus<T>(
          ref,
          keyOf(object),
          patch as unknown as Fields<T>,
          this.#options,
        );
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isConflict(error) || ++conflicts > MAX_CONFLICTS) throw error;
        // another object by the same name has a status of its own
        current = await this.#findAgain(ref, object);
      }
    }
    return undefined;
  }
}

function isUnchanged(before: object | undefined, patch: object): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...before };
  return Object.entries(patch).every(([name, value]) =>
    value === null ? fields[name] === undefined : jsonEquals(fields[name], value),
  );
}
