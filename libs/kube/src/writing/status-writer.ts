import { jsonEquals } from '#lib/json';
import { CONDITION, type KubeObject, type ResourceRef } from '#lib/resources';
import { compareVersions } from '../informer/store.js';
import { isNotFound } from '../client/kube-api-error.js';
import type { KubeClient } from '../client/kube-client.js';
import type { StatusOf, WithStatus } from '../client/request-options.js';

export interface StatusWriterOptions {
  /** Default: the client's. One for each reconciler, since it owns exactly the fields it last applied. */
  readonly fieldManager?: string;
  /**
   * Types of the conditions that this writer owns, where others have conditions of their own in the same list. Default:
   * the whole list is its own.
   */
  readonly conditionTypes?: readonly string[];
}

/** Far more objects than have a pending write at any time. */
const MAX_REMEMBERED = 10_000;

/**
 * Writes statuses, and nothing when nothing changed. Objects come from caches, which may lag behind this very writer: it
 * remembers the version it wrote, and an older one proves nothing about the server's.
 */
export class StatusWriter {
  /** Versions written by uid, until the object is seen in this version or a newer one. */
  readonly #written = new Map<string, string>();
  /** Writes without an answer by uid: they may have happened. */
  readonly #doubted = new Set<string>();

  constructor(
    private readonly client: KubeClient,
    private readonly options: StatusWriterOptions = {},
  ) {}

  /**
   * Server-side apply: afterwards our manager owns exactly these fields, and fields that it owned before and that are not
   * in `status` are removed. For kinds whose condition lists are maps by type. No call is made when the object, as it was
   * read, has these very values; `owned` names top-level fields of ours that must be absent when `status` does not have
   * them. Returns the object as it was read when it no longer exists.
   *
   * A newer object than the one that the status was computed from is a Conflict, and the next pass computes anew:
   * neither a cache that lags nor a leader that was replaced takes anything back.
   */
  async apply<T extends WithStatus>(
    ref: ResourceRef<T>,
    object: NoInfer<T>,
    status: StatusOf<NoInfer<T>>,
    owned: readonly (keyof StatusOf<NoInfer<T>> & string)[] = [],
  ): Promise<T> {
    const { fieldManager } = this.options;
    const { name, namespace, resourceVersion, uid = '' } = object.metadata;
    const isDoubtful = this.#doubted.delete(uid) || this.isBehind(object);
    if (!isDoubtful && this.#isCurrent(object.status, status, owned)) return object;
    const applied = { metadata: { name, ...(namespace && { namespace }), resourceVersion }, status };
    try {
      const written = await this.client.applyStatus<T>(
        ref,
        applied,
        fieldManager === undefined ? {} : { fieldManager },
      );
      this.#remember(written);
      return written;
    } catch (error) {
      if (isNotFound(error)) return object;
      this.#doubted.add(uid);
      throw error;
    }
  }

  #isCurrent(before: object | undefined, next: object, owned: readonly string[]): boolean {
    const [shown, wanted] = [fieldsOf(before), fieldsOf(next)];
    return [...new Set([...Object.keys(wanted), ...owned])].every((name) =>
      name === 'conditions'
        ? jsonEquals(this.#own(shown[name]), this.#own(wanted[name]))
        : jsonEquals(shown[name], wanted[name]),
    );
  }

  /** Our conditions by type: their order is the server's. */
  #own(conditions: unknown): unknown {
    const { conditionTypes } = this.options;
    if (!Array.isArray(conditions)) return conditions;
    return Object.fromEntries(
      conditions
        .map((condition: { readonly type: string }) => [condition.type, condition] as const)
        // the loop writes its own, whichever reconciler has the list
        .filter(([type]) => conditionTypes?.includes(type) ?? type !== CONDITION.reconcileFailing),
    );
  }

  /** True when this object, as it was read, does not show yet what this writer wrote last. */
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
}

function fieldsOf(status: object | undefined): Readonly<Record<string, unknown>> {
  return { ...status };
}
