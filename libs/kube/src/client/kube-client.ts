import type { Readable } from 'node:stream';
import {
  apiVersionOf,
  type KubeObject,
  type ObjectKey,
  type ObjectMeta,
  OMIT_MANAGED_FIELDS,
  PODS,
  type ResourceRef,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { KubeConnection } from '../connection/kube-connection.js';
import { isNotFound } from './kube-api-error.js';
import {
  type Applied,
  type AppliedStatus,
  type ApplyOptions,
  collectionPath,
  type DeleteOptions,
  type Draft,
  type Fields,
  type IssuedToken,
  type KubeList,
  type ListOptions,
  type LogOptions,
  objectPath,
  type ReadOptions,
  type Selection,
  type TokenRequest,
  type WatchEvent,
  type WatchOptions,
  type WithStatus,
  type WriteOptions,
} from './request-options.js';
import { APPLY, Transport, type Method, type Query, type RequestOptions } from './transport.js';
import { watchedEvents } from './watched-events.js';

/** Object of a kind without a type of its own. */
export type Untyped = KubeObject & { readonly [field: string]: unknown };

export interface KubeClientOptions {
  /** Names this writer in `managedFields`, for example `agentplane-controller`. */
  readonly fieldManager?: string;
  readonly userAgent?: string;
  /** Longest time in milliseconds for one request. Default 30 s. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

interface ListBody<T> {
  readonly items?: readonly T[] | null;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

/**
 * The Kubernetes API over our own transport. Objects are the server's JSON, untouched. Every call may throw
 * `KubeApiError` (the server refused) and `KubeUnreachableError` (no answer; a write may or may not have happened).
 */
export class KubeClient {
  readonly connection: KubeConnection;
  readonly #transport: Transport;
  readonly #fieldManager: string;

  constructor(connection: KubeConnection, options: KubeClientOptions = {}) {
    this.connection = connection;
    this.#fieldManager = options.fieldManager ?? 'agentplane';
    this.#transport = new Transport(connection, {
      userAgent: options.userAgent ?? this.#fieldManager,
      timeoutMs: options.timeoutMs ?? 30_000,
      ...(options.clock ? { clock: options.clock } : {}),
    });
  }

  /** The object; a missing one is an error. */
  async get<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    key: ObjectKey,
    options: ReadOptions = {},
  ): Promise<T> {
    return (await this.#transport.request('GET', objectPath(ref, key), options)) as T;
  }

  /** The object, or undefined when it does not exist. */
  async find<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    key: ObjectKey,
    options: ReadOptions = {},
  ): Promise<T | undefined> {
    try {
      return await this.get(ref, key, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Everything that matches, read page by page; `resourceVersion` is the one to watch from. */
  async list<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    options: ListOptions = {},
  ): Promise<KubeList<T>> {
    const items: T[] = [];
    let resourceVersion = '';
    for await (const page of this.pages(ref, options)) {
      for (const item of page.items) items.push(item);
      resourceVersion = page.resourceVersion;
    }
    return { items, resourceVersion };
  }

  /**
   * The pages of a list, all of the same version. Throws Expired when the server forgot that version between two pages;
   * a caller that needs the whole list begins again.
   */
  async *pages<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    options: ListOptions = {},
  ): AsyncGenerator<KubeList<T>, void, void> {
    let token: string | undefined;
    do {
      const body = (await this.#transport.request('GET', collectionPath(ref, options.namespace), {
        query: {
          ...selectors(options),
          limit: options.pageSize ?? 500,
          // a continue token carries its version, and both together are refused
          ...(token === undefined ? { resourceVersion: options.resourceVersion } : { continue: token }),
        },
        ...(options.metadataOnly ? { accept: partial('PartialObjectMetadataList') } : {}),
        ...(options.signal ? { signal: options.signal } : {}),
      })) as ListBody<T>;
      // items of a list carry neither apiVersion nor kind
      const stamp = { apiVersion: apiVersionOf(ref), kind: ref.kind };
      const items = (body.items ?? []).map((item) => ({ ...item, ...stamp }));
      yield { items, resourceVersion: body.metadata?.resourceVersion ?? '' };
      token = body.metadata?.continue || undefined;
    } while (token !== undefined);
  }

  /**
   * Events as they come. Ends when the server ends it or `signal` is aborted; throws when the connection breaks or is
   * silent for too long, and the error of an ERROR event (Expired: list again).
   */
  async *watch<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    const path = collectionPath(ref, options.namespace);
    try {
      const stream = await this.#transport.stream(path, {
        query: {
          ...selectors(options),
          watch: true,
          ...withoutManagers(options.omitsManagedFields),
          allowWatchBookmarks: true,
          resourceVersion: options.resourceVersion,
          timeoutSeconds: options.timeoutSeconds,
        },
        silentForMs: options.silentForMs ?? 80_000,
        ...(options.metadataOnly ? { accept: partial('PartialObjectMetadata') } : {}),
        ...(options.signal ? { signal: options.signal } : {}),
      });
      options.onOpen?.();
      for await (const event of watchedEvents<T>(stream, path)) {
        if (options.signal?.aborted) return;
        yield event;
      }
    } catch (error) {
      if (!options.signal?.aborted) throw error;
    }
  }

  /** Creates the object; AlreadyExists when the name is taken. */
  async create<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    object: Draft<NoInfer<T>>,
    options: WriteOptions = {},
  ): Promise<T> {
    const namespace = ref.namespaced ? (object.metadata.namespace ?? '') : undefined;
    if (namespace === '')
      throw new Error(`${ref.kind} ${object.metadata.name} is namespaced: its namespace is missing`);
    return (await this.#write('POST', collectionPath(ref, namespace), ref, object, options)) as T;
  }

  /** Creates a subresource of an object: `binding`, `eviction`, `token`. */
  async createSubresource(
    ref: ResourceRef,
    key: ObjectKey,
    subresource: string,
    body: unknown,
    options: ReadOptions = {},
  ): Promise<unknown> {
    return await this.#transport.request('POST', objectPath(ref, key, subresource), { ...options, body });
  }

  /** Replaces the whole object; with a resourceVersion in it, Conflict when it changed since. */
  async replace<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    object: Draft<NoInfer<T>>,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = objectPath(ref, keyOfDraft(object), options.subresource);
    return (await this.#write('PUT', path, ref, object, options)) as T;
  }

  /** Server-side apply: our manager owns exactly these fields; what it owned and no longer sends is removed. */
  async apply<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    object: Applied<NoInfer<T>>,
    options: ApplyOptions = {},
  ): Promise<T> {
    return (await this.#apply(ref, object, options)) as T;
  }

  /** JSON merge patch: `null` removes. With `metadata.resourceVersion` in it, Conflict when the object changed since. */
  async merge<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    key: ObjectKey,
    patch: Fields<NoInfer<T>>,
    options: WriteOptions = {},
  ): Promise<T> {
    return (await this.#patch('application/merge-patch+json', ref, key, patch, options)) as T;
  }

  /** Merges into the metadata alone, which every kind has. */
  async mergeMetadata<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    key: ObjectKey,
    metadata: Fields<ObjectMeta>,
  ): Promise<T> {
    return (await this.#patch('application/merge-patch+json', ref, key, { metadata }, {})) as T;
  }

  /** Replaces the status alone (`/status`). */
  replaceStatus<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    object: Draft<NoInfer<T>>,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.replace(ref, object, { ...options, subresource: 'status' });
  }

  /** Applies status fields (`/status`). */
  async applyStatus<T extends WithStatus>(
    ref: ResourceRef<T>,
    object: AppliedStatus<NoInfer<T>>,
    options: ApplyOptions = {},
  ): Promise<T> {
    return (await this.#apply(ref, object, { ...options, subresource: 'status' })) as T;
  }

  /** Merges into the status (`/status`); the patch is the whole object's, `{status: {…}}`. */
  mergeStatus<T extends KubeObject = Untyped>(
    ref: ResourceRef<T>,
    key: ObjectKey,
    patch: Fields<NoInfer<T>>,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.merge(ref, key, patch, { ...options, subresource: 'status' });
  }

  /** Asks for deletion. False when the object did not exist. Finalizers and grace periods may keep it for a while. */
  async delete(ref: ResourceRef, key: ObjectKey, options: DeleteOptions = {}): Promise<boolean> {
    const { uid, resourceVersion, gracePeriodSeconds, propagation = 'Background' } = options;
    try {
      await this.#transport.request('DELETE', objectPath(ref, key), {
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy: propagation,
          ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
          ...(uid === undefined && resourceVersion === undefined
            ? {}
            : { preconditions: { uid, resourceVersion } }),
        },
        ...(options.signal ? { signal: options.signal } : {}),
      });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Any path of the API server, for what has no method here (`/version`, discovery, access reviews). */
  async raw(method: Method, path: string, options: RequestOptions = {}): Promise<unknown> {
    return await this.#transport.request(method, path, options);
  }

  /** A token of a service account (TokenRequest). */
  async createToken(account: ObjectKey, request: TokenRequest = {}): Promise<IssuedToken> {
    const ref: ResourceRef = {
      group: '',
      version: 'v1',
      plural: 'serviceaccounts',
      kind: 'ServiceAccount',
      namespaced: true,
    };
    const { boundObject, ...spec } = request;
    const answer = (await this.createSubresource(ref, account, 'token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { ...spec, ...(boundObject ? { boundObjectRef: boundObject } : {}) },
    })) as { status: IssuedToken };
    return answer.status;
  }

  /** The log of a container as bytes; with `follow` until the container ends or `signal` is aborted. */
  async podLogs(pod: ObjectKey, options: LogOptions = {}): Promise<Readable> {
    const { signal, ...query } = options;
    return await this.#transport.stream(objectPath(PODS, pod, 'log'), {
      query,
      accept: '*/*',
      silentForMs: options.follow ? 0 : 30_000,
      ...(signal ? { signal } : {}),
    });
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  #apply(
    ref: ResourceRef,
    object: AppliedStatus<WithStatus> | Applied<KubeObject>,
    options: ApplyOptions,
  ): Promise<unknown> {
    return this.#transport.request('PATCH', objectPath(ref, keyOfDraft(object), options.subresource), {
      query: { ...this.#writeQuery(options), force: options.force ?? true },
      contentType: APPLY,
      body: { ...object, apiVersion: apiVersionOf(ref), kind: ref.kind },
      ...(options.signal ? { signal: options.signal } : {}),
    });
  }

  #patch(
    contentType: string,
    ref: ResourceRef,
    key: ObjectKey,
    body: unknown,
    options: WriteOptions,
  ): Promise<unknown> {
    return this.#transport.request('PATCH', objectPath(ref, key, options.subresource), {
      query: this.#writeQuery(options),
      contentType,
      body,
      ...(options.signal ? { signal: options.signal } : {}),
    });
  }

  #write(
    method: Method,
    path: string,
    ref: ResourceRef,
    object: object,
    options: WriteOptions,
  ): Promise<unknown> {
    return this.#transport.request(method, path, {
      query: this.#writeQuery(options),
      body: { ...object, apiVersion: apiVersionOf(ref), kind: ref.kind },
      ...(options.signal ? { signal: options.signal } : {}),
    });
  }

  #writeQuery(options: WriteOptions): Query {
    return {
      fieldManager: options.fieldManager ?? this.#fieldManager,
      dryRun: options.dryRun ? 'All' : undefined,
      fieldValidation: options.isStrict ? 'Strict' : undefined,
      ...withoutManagers(true),
    };
  }
}

/** The embedded API server leaves them out then; others do not know the parameter, and ignore it. */
function withoutManagers(isWanted = false): Query {
  return isWanted ? { [OMIT_MANAGED_FIELDS]: true } : {};
}

function partial(kind: string): string {
  return `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
}

function selectors(selection: Selection): Query {
  return {
    labelSelector: selection.labelSelector || undefined,
    fieldSelector: selection.fieldSelector || undefined,
  };
}

function keyOfDraft(object: {
  readonly metadata: { readonly name?: string; readonly namespace?: string };
}): ObjectKey {
  const { name = '', namespace } = object.metadata;
  return namespace === undefined ? { name } : { name, namespace };
}
