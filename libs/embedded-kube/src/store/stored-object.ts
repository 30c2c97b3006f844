import { parseExactJson } from '#lib/json';
import type { KubeObject } from '#lib/kube-semantics';

/** An object as it was committed. */
export interface StoredObject {
  readonly object: KubeObject;
  /** The object's JSON, made once for the database and reused for answers and watches. */
  readonly json: string;
  readonly revision: number;
}

/**
 * A committed object in the store. An object takes three times the memory of its text, so one that is no
 * longer the newest has only its text, and is parsed again when a watch resumes from it.
 */
export class CommittedObject implements StoredObject {
  #object: KubeObject | undefined;
  #former: WeakRef<KubeObject> | undefined;
  #isFormer = false;
  #apiVersion: string | undefined;

  constructor(
    readonly json: string,
    readonly revision: number,
    object?: KubeObject,
  ) {
    this.#object = object;
  }

  get object(): KubeObject {
    const known = this.#object ?? this.#former?.deref();
    if (known) return known;
    const parsed = parseExactJson(this.json) as KubeObject;
    if (this.#isFormer) this.#former = new WeakRef(parsed);
    else this.#object = parsed;
    return parsed;
  }

  /** Known without the object. */
  get apiVersion(): string {
    return (this.#apiVersion ??= this.object.apiVersion);
  }

  /** Another state took its place. */
  replaced(): void {
    this.#apiVersion ??= this.#object?.apiVersion;
    this.#former ??= this.#object ? new WeakRef(this.#object) : undefined;
    this.#isFormer = true;
    this.#object = undefined;
  }
}

/** The version that the JSON of an object is in. */
export function storedVersion(stored: StoredObject): string {
  return stored instanceof CommittedObject ? stored.apiVersion : stored.object.apiVersion;
}

/** One committed change. */
export interface StoredChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** The object after the change; for DELETED its last state with the revision of the deletion. */
  readonly after: StoredObject;
  /** The object before the change; undefined for ADDED, and for changes from before a restart. */
  readonly before: StoredObject | undefined;
}
