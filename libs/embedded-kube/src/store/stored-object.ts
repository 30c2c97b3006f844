import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { jsonEquals, parseExactJson } from '#lib/json';
import { ApiError, type KubeObject } from '#lib/kube-semantics';

/** Key of an object: one per object, whatever version of the API it is read through. */
export interface ResourceKey {
  /** Qualified plural name: `pods`, `deployments.apps`. */
  readonly resource: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** One text for a key; `/` appears in none of the parts. */
export function keyText(key: ResourceKey): string {
  return `${key.resource}/${key.namespace}/${key.name}`;
}

/** Maximum size that etcd takes. */
const MAX_OBJECT_BYTES = 1.5 * 1024 * 1024;
/**
 * Additional size for an object that is being deleted: its mark, its last status, and the manager that took a
 * finalizer.
 */
const ROOM_TO_END_BYTES = 64 * 1024;
/**
 * Size that a step towards deletion may add in a namespace that is full: the mark, or the manager that took a
 * finalizer.
 */
const MAX_STEP_LETTERS = 512;
/** Notes of who wrote what, on an object that has more of them: each step could add one. */
const MAX_MANAGERS = 16;

/**
 * An existing object may be deleted and made smaller, whatever its size.
 * @throws ApiError 500 in the words of Kubernetes
 */
export function checkObjectSize({ type, after, before }: StoredChange): void {
  if (type === 'DELETED' || lettersOf(after) <= (before ? lettersOf(before) : 0)) return;
  const isEnding = after.object.metadata.deletionTimestamp !== undefined;
  if (Buffer.byteLength(after.json) <= MAX_OBJECT_BYTES + (isEnding ? ROOM_TO_END_BYTES : 0)) return;
  throw new ApiError(500, '', 'etcdserver: request is too large');
}

/**
 * True when a change only brings an object nearer to its deletion: marks it, which happens once, or takes
 * finalizers and nothing else, of which there may be any number. If the quota refused it, the object, and
 * with it the namespace, could never be removed.
 */
export function isStepToEnd({ after, before }: StoredChange): boolean {
  const { deletionTimestamp, finalizers = [], managedFields } = after.object.metadata;
  if (deletionTimestamp === undefined || before === undefined) return false;
  if (lettersOf(after) - lettersOf(before) > MAX_STEP_LETTERS) return false;
  const { metadata } = before.object;
  if (metadata.deletionTimestamp === undefined) return true;
  if (finalizers.length >= (metadata.finalizers ?? []).length) return false;
  if (Array.isArray(managedFields) && managedFields.length > MAX_MANAGERS) return false;
  return jsonEquals(rest(after.object), rest(before.object));
}

/** The rest of an object, which a step towards deletion leaves unchanged. */
function rest({ metadata, ...object }: KubeObject): unknown {
  const { finalizers: _, managedFields: __, resourceVersion: ___, ...own } = metadata;
  return { ...object, metadata: own };
}

/** An object as it was committed. */
export interface StoredObject {
  readonly object: KubeObject;
  /** The object's JSON, made once for the database and reused for answers and watches. */
  readonly json: string;
  readonly revision: number;
}

/** Values of Secrets, also as kubectl notes them in an annotation: a packer outlives the object that it compares with. */
const VALUES = /"data\\*":\{[^}]*\}/g;

/** Objects of a kind differ in little: packed with another one at hand, most take a twentieth of their text. */
export class TextPacker {
  #like: Buffer | undefined;

  pack(text: string): string {
    this.#like ??= Buffer.from(text.replaceAll(VALUES, ''));
    return deflateRawSync(text, { dictionary: this.#like }).toString('latin1');
  }

  unpack(packed: string): string {
    const options = this.#like ? { dictionary: this.#like } : {};
    return inflateRawSync(Buffer.from(packed, 'latin1'), options).toString();
  }
}

/** The text of an object while it is packed. */
interface Packed {
  readonly text: string;
  readonly by: TextPacker;
}

/**
 * A committed object in the store. An object takes three times the memory of its text. One that is no longer the newest
 * has only its text, and one that was not read for a while only a packed one; both are parsed again for their next
 * reader.
 */
export class CommittedObject implements StoredObject {
  /** Length of the JSON. */
  readonly letters: number;
  #text: string | Packed;
  #object: KubeObject | undefined;
  /** The object of a former state, which may still be in memory. */
  #released: WeakRef<KubeObject> | undefined;
  #isFormer = false;
  #wasRead = false;
  #apiVersion: string | undefined;

  constructor(
    json: string,
    readonly revision: number,
    object?: KubeObject,
  ) {
    this.letters = json.length;
    this.#text = json;
    this.#object = object;
  }

  get json(): string {
    this.#wasRead = true;
    if (typeof this.#text !== 'string') this.#text = this.#text.by.unpack(this.#text.text);
    return this.#text;
  }

  get object(): KubeObject {
    this.#wasRead = true;
    const known = this.#object ?? this.#released?.deref();
    if (known) return known;
    const object = parseExactJson(this.json) as KubeObject;
    if (this.#isFormer) this.#released = new WeakRef(object);
    else this.#object = object;
    return object;
  }

  /** Known without the object. */
  get apiVersion(): string {
    return (this.#apiVersion ??= this.object.apiVersion);
  }

  /** Another state took its place. */
  replaced(): void {
    this.#isFormer = true;
    this.#apiVersion ??= this.#object?.apiVersion;
    this.#released ??= this.#object && new WeakRef(this.#object);
    this.#object = undefined;
  }

  /** Unpacks it for readers that cannot wait. @returns the letters that were unpacked, which takes time */
  unpack(): number {
    if (this.#object) return 0;
    return this.object ? this.letters : 0;
  }

  /** Packs it unless it was read since the last call. @returns true when it was packed, which takes time */
  rest(by: TextPacker): boolean {
    const wasRead = this.#wasRead;
    this.#wasRead = false;
    if (wasRead || typeof this.#text !== 'string') return false;
    this.#apiVersion ??= this.#object?.apiVersion;
    this.#object = undefined;
    this.#text = { text: by.pack(this.#text), by };
    return true;
  }
}

/** Length of the JSON of an object, which need not be unpacked for it. */
export function lettersOf(stored: StoredObject): number {
  return stored instanceof CommittedObject ? stored.letters : stored.json.length;
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
