import type { Clock } from '#lib/time';
import {
  ApiError,
  apiVersionOf,
  badRequest,
  conflict,
  invalid,
  isSelected,
  type KubeObject,
  methodNotAllowed,
  parseSelection,
  qualified,
  type Selection,
  type ServedType,
  storageKey,
  withMetadata,
} from '#lib/kube-semantics';
import { OMIT_MANAGED_FIELDS } from '#lib/resources';
import type { Authorizer } from '../authz/authorizer.js';
import { checkCreatedByApply, checkNodeWrite } from '../authz/node-restriction.js';
import type { EscalationCheck } from '../authz/escalation.js';
import { isTrue, negotiate } from '../http/request-body.js';
import { json, type Reply, type RequestContext } from '../http/request-context.js';
import { type FindListeners, holderOf, RequestPots, WATCH_LIMITS } from '../http/request-pots.js';
import type { HeldAnswers } from '../http/held-answers.js';
import { checkListOptions, checkListRevision, parseCount, parseListRevision } from '../list/list-options.js';
import { ListPages } from '../list/list-pages.js';
import { parseIncludeObject, Presenter } from '../present/presenter.js';
import type { ObjectStore } from '../store/object-store.js';
import { lettersOf, type StoredObject } from '../store/stored-object.js';
import { LETTERS_OF_TURN, nextTurn, unpackInTurns } from './in-turns.js';
import { beginsWithObjects, serveWatch } from '../watch/serve-watch.js';
import { SharedTexts, type WatchHub } from '../watch/watch-hub.js';
import { asObject, readObject } from './body.js';
import { readDeleteOptions, reportUnknownFields, type WriteOptions, writeOptions } from './write-options.js';
import type { ObjectService, ObjectTarget, WriteContext, WriteResult } from './object-service.js';
import { type Patch, patched, readPatch } from './patch-body.js';
import { withUsage } from './quota-objects.js';
import { ABSENT_VERBS } from './type-registry.js';

export interface ResourceHandlerParts {
  readonly store: ObjectStore;
  readonly objects: ObjectService;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  readonly escalation: EscalationCheck;
  readonly findListeners: FindListeners;
  readonly answers: HeldAnswers;
}

/** Kinds that PUT may not overwrite blindly: they must say which version they replace. */
const CONDITIONAL = new Set(['leases.coordination.k8s.io']);

/** Cost of a deletion beside that of its object. */
const DELETION_LETTERS = 8 * 1024;

/** The REST verbs of stored objects and of their `/status`. */
export class ResourceHandlers {
  readonly #pages: ListPages;
  readonly #texts = new SharedTexts();
  readonly #watches: RequestPots;

  constructor(private readonly parts: ResourceHandlerParts) {
    this.#pages = new ListPages(parts.clock);
    this.#watches = new RequestPots(WATCH_LIMITS, 'watches open', parts.findListeners);
  }

  async handle(context: RequestContext, served: ServedType): Promise<Reply> {
    const { verb, subresource } = context.info;
    if (served.type.isAbsent && !ABSENT_VERBS.includes(verb)) throw notRunHere(served.type);
    if (subresource !== '' && !['get', 'update', 'patch'].includes(verb)) throw methodNotAllowed();
    switch (verb) {
      case 'get':
        return this.#get(context, served);
      case 'list':
        return this.#list(context, served);
      case 'watch':
        return this.#watch(context, served);
      case 'create':
        return this.#create(context, served);
      case 'update':
        return this.#update(context, served);
      case 'patch':
        return this.#patch(context, served);
      case 'delete':
        return this.#delete(context, served);
      case 'deletecollection':
        return this.#deleteCollection(context, served);
      default:
        throw methodNotAllowed();
    }
  }

  #get(context: RequestContext, served: ServedType): Reply {
    const presenter = this.#presenter(context, served);
    const found = this.parts.objects.get(target(context, served));
    const shown = withUsage(this.parts.store, served.type.resource, [found]);
    this.#hold(context, shown);
    return json(shown.map((stored) => presenter.stored(stored)).join(''));
  }

  /** Counts what an answer keeps as it was until its client has read it. @throws ApiError 429 */
  #hold(context: RequestContext, items: readonly StoredObject[]): void {
    const letters = items.reduce((sum, item) => sum + lettersOf(item), 0);
    this.parts.answers.begin(context, letters);
  }

  async #list(context: RequestContext, served: ServedType): Promise<Reply> {
    const { query } = context;
    checkListOptions(query);
    const limit = parseCount(query.get('limit'));
    const token = query.get('continue');
    const selection = selectionOf(context, served);
    const presenter = this.#presenter(context, served);
    const isFiltered = selection.labels.length + selection.fields.length > 0;
    if (isFiltered && !token) await this.#unpack(context, served, selection);
    const { revision } = this.parts.store;
    const asked = token ? undefined : parseListRevision(query.get('resourceVersion'));
    checkListRevision(asked, query.get('resourceVersionMatch'), revision);
    const of = listText(served, selection, query);
    const page = token
      ? this.#pages.next(of, token, limit)
      : this.#pages.first({
          of,
          items: this.#selected(served, selection),
          revision,
          limit,
          owner: holderOf(context.user),
          admit: (items) => this.#hold(context, items),
        });
    if (token) this.#hold(context, page.items);
    const meta = {
      resourceVersion: String(page.revision),
      ...(page.next ? { continue: page.next } : {}),
      ...(page.next && !isFiltered ? { remainingItemCount: page.remaining } : {}),
    };
    return { kind: 'parts', code: 200, parts: presenter.list(page.items, meta) };
  }

  async #watch(context: RequestContext, served: ServedType): Promise<Reply> {
    const { name } = context.info;
    const selection = { ...selectionOf(context, served), ...(name ? { name } : {}) };
    const presenter = this.#presenter(context, served);
    if (beginsWithObjects(context.query)) await this.#unpack(context, served, selection);
    const reply = serveWatch(
      { context, served, selection, presenter },
      { ...this.parts, texts: this.#texts },
    );
    this.#watches.begin(context.user, context.signal);
    return reply;
  }

  async #create(context: RequestContext, served: ServedType): Promise<Reply> {
    if (context.info.name !== '') throw methodNotAllowed();
    const options = writeOptions(context, 'CreateOptions');
    const given = this.#decoded(await this.#body(context, served), context, served, options);
    const result = await this.parts.objects.create(
      served,
      target(context, served).namespace,
      given,
      this.#writeContext(context, served, options),
    );
    return this.#answer(context, served, result);
  }

  async #update(context: RequestContext, served: ServedType): Promise<Reply> {
    const options = writeOptions(context, 'UpdateOptions');
    const { type } = served;
    const given = this.#decoded(await this.#body(context, served), context, served, options);
    if (!given.metadata.resourceVersion && (type.isCustom || CONDITIONAL.has(qualified(type)))) {
      const message = 'Invalid value: 0: must be specified for an update';
      this.parts.objects.get(target(context, served));
      throw invalid(type, context.info.name, [
        { reason: 'FieldValueInvalid', field: 'metadata.resourceVersion', message },
      ]);
    }
    const replace = (current: KubeObject): KubeObject => {
      checkUid(type, current, given);
      return given;
    };
    const write = this.#writeContext(context, served, options);
    const result = await this.parts.objects.update(target(context, served), replace, write);
    return this.#answer(context, served, result);
  }

  async #patch(context: RequestContext, served: ServedType): Promise<Reply> {
    const options = writeOptions(context, 'PatchOptions');
    const patch = await readPatch(context, served.type);
    const write = this.#writeContext(context, served, options);
    if (patch.kind === 'apply') return this.#apply(context, served, patch.body, options);
    const change = (current: KubeObject): KubeObject =>
      this.#patchedObject(current, patch, context, served, options);
    const result = await this.parts.objects.update(target(context, served), change, write);
    return this.#answer(context, served, result);
  }

  #patchedObject(
    current: KubeObject,
    patch: Exclude<Patch, { kind: 'apply' }>,
    context: RequestContext,
    { type, version }: ServedType,
    options: WriteOptions,
  ): KubeObject {
    const next = patched(type, current, patch);
    const { object, unknownFields } = version.rules.schema.prune(next);
    reportUnknownFields(unknownFields, options, context, (message) => {
      const text = JSON.stringify(sortedKeys(next));
      const cause = {
        reason: 'FieldValueInvalid',
        field: 'patch',
        message: `Invalid value: ${JSON.stringify(text)}: ${message}`,
      };
      return new ApiError(422, 'Invalid', ` "" is invalid: patch: ${cause.message}`, { causes: [cause] });
    });
    return asObject(object, { apiVersion: current.apiVersion, kind: current.kind });
  }

  async #apply(
    context: RequestContext,
    served: ServedType,
    body: KubeObjectBody,
    options: WriteOptions,
  ): Promise<Reply> {
    if (!context.query.get('fieldManager')) {
      const message = 'Required value: is required for apply patch';
      throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [
        { reason: 'FieldValueRequired', field: 'fieldManager', message },
      ]);
    }
    const { name } = context.info;
    const expected = {
      apiVersion: apiVersionOf(served.type.group, served.version.name),
      kind: served.type.kind,
    };
    const given = asObject(body, expected);
    const { namespace } = target(context, served);
    const named = withMetadata(given, {
      name: given.metadata.name ?? name,
      ...(served.type.namespaced ? { namespace: given.metadata.namespace ?? namespace } : {}),
    });
    checkApplyIdentity(named, name, namespace);
    const { object, unknownFields } = served.version.rules.schema.prune(named);
    if (unknownFields.length > 0) throw applyUnknown(named, unknownFields);
    const write = { ...this.#writeContext(context, served, options), force: options.force };
    const result = await this.parts.objects.apply(target(context, served), object, write);
    return this.#answer(context, served, result);
  }

  async #delete(context: RequestContext, served: ServedType): Promise<Reply> {
    const options = await readDeleteOptions(context);
    const result = await this.parts.objects.delete(target(context, served), options);
    if (result.outcome !== 'deleted') return this.#answer(context, served, result);
    const { type } = served;
    const details = {
      name: context.info.name,
      ...(type.group ? { group: type.group } : {}),
      kind: type.resource,
      uid: result.object.metadata.uid,
    };
    return json({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
  }

  async #deleteCollection(context: RequestContext, served: ServedType): Promise<Reply> {
    const options = await readDeleteOptions(context);
    const selection = selectionOf(context, served);
    await this.#unpack(context, served, selection);
    const items = this.#selected(served, selection);
    this.#hold(context, items);
    let letters = 0;
    for (const item of items) {
      letters += lettersOf(item) + DELETION_LETTERS;
      if (letters > LETTERS_OF_TURN) {
        await nextTurn(context);
        letters = 0;
      }
      // thousands of deletions take minutes, and the client does not wait for them any more
      if (context.signal.aborted) break;
      const { object } = item;
      const each = { served, namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
      await this.parts.objects.delete(each, options).catch(ignoreGone);
    }
    const meta = { resourceVersion: String(this.parts.store.revision) };
    return { kind: 'parts', code: 200, parts: this.#presenter(context, served).list(items, meta) };
  }

  #unpack(context: RequestContext, { type }: ServedType, { namespace }: Selection): Promise<void> {
    return unpackInTurns(context, this.parts.store.list(storageKey(type), namespace));
  }

  #selected(served: ServedType, selection: Selection) {
    const { store } = this.parts;
    const all = withUsage(
      store,
      served.type.resource,
      store.list(storageKey(served.type), selection.namespace),
    );
    const { labels, fields, name } = selection;
    if (labels.length === 0 && fields.length === 0 && name === undefined) return all;
    return all.filter((item) => isSelected(selection, item.object));
  }

  async #body(context: RequestContext, served: ServedType): Promise<KubeObject> {
    const body = await readObject(context);
    if (!body) throw badRequest('the request body is empty');
    return asObject(body, {
      apiVersion: apiVersionOf(served.type.group, served.version.name),
      kind: served.type.kind,
    });
  }

  #decoded(
    given: KubeObject,
    context: RequestContext,
    { type, version }: ServedType,
    options: WriteOptions,
  ): KubeObject {
    const { object, unknownFields } = version.rules.schema.prune(given);
    const as = `${type.kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${type.kind}`;
    reportUnknownFields(unknownFields, options, context, (message) => badRequest(`${as}: ${message}`));
    return object;
  }

  #writeContext(
    context: RequestContext,
    { type }: ServedType,
    { manager, dryRun }: WriteOptions,
  ): WriteContext {
    const { info, user } = context;
    const { authorizer, escalation } = this.parts;
    if (type.noEffect) context.warn(type.noEffect);
    return {
      manager,
      dryRun,
      subresource: info.subresource,
      check: (next, old) => {
        if (!old) checkCreatedByApply(context, authorizer);
        checkNodeWrite(type, next, old, user);
        escalation.check(type, next, old, user);
      },
    };
  }

  #presenter(context: RequestContext, served: ServedType): Presenter {
    const format = negotiate(context.headers.accept);
    if (!format) {
      const message = 'only the following media types are accepted: application/json, application/yaml';
      throw new ApiError(406, 'NotAcceptable', message);
    }
    if (served.version.deprecation) context.warn(served.version.deprecation);
    const includeObject = parseIncludeObject(context.query.get('includeObject'));
    const omitsManagers = isTrue(context.query.get(OMIT_MANAGED_FIELDS));
    return new Presenter(served, format, includeObject, () => this.parts.clock.now(), omitsManagers);
  }

  /** @throws ApiError 429, 504 where something was written and its client leaves too much unread */
  #answer(context: RequestContext, served: ServedType, { object, outcome }: WriteResult): Reply {
    const text = this.#presenter(context, served).one(object);
    const { answers } = this.parts;
    if (context.query.getAll('dryRun').includes('All')) answers.begin(context, text.length);
    else answers.beginOfWrite(context, text.length);
    return json(text, outcome === 'created' ? 201 : 200);
  }
}

function notRunHere({ kind }: ServedType['type']): ApiError {
  return new ApiError(
    405,
    'MethodNotAllowed',
    `${kind} is not supported by the embedded API server; use a cluster`,
    {},
  );
}

type KubeObjectBody = Parameters<typeof asObject>[0];

function target({ info }: RequestContext, served: ServedType): ObjectTarget {
  return { served, namespace: served.type.namespaced ? info.namespace : '', name: info.name };
}

function selectionOf({ query, info }: RequestContext, served: ServedType): Selection {
  return parseSelection(query, served, info.namespace, '');
}

function listText(served: ServedType, { namespace }: Selection, query: URLSearchParams): string {
  return JSON.stringify([
    qualified(served.type),
    namespace,
    query.get('labelSelector'),
    query.get('fieldSelector'),
  ]);
}

function checkApplyIdentity({ metadata }: KubeObject, name: string, namespace: string): void {
  if (metadata.name !== name) {
    throw badRequest(
      `the name of the object (${metadata.name ?? ''}) does not match the name on the URL (${name})`,
    );
  }
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

/** Apply refuses unknown fields whatever the caller's fieldValidation: they could have no owner. */
function applyUnknown(object: KubeObject, unknownFields: readonly string[]): ApiError {
  const { name = '', namespace } = object.metadata;
  const who = `${namespace ? `${namespace}/` : ''}${name}; ${object.apiVersion}, Kind=${object.kind}`;
  const errors = unknownFields.map((field) => `.${field}: field not declared in schema`);
  const text = errors.length === 1 ? errors[0] : `errors:\n  ${errors.join('\n  ')}`;
  return new ApiError(500, '', `failed to create typed patch object (${who}): ${text}`);
}

/** A PUT that names a uid means that object and no later one of the same name. */
function checkUid(type: ServedType['type'], { metadata }: KubeObject, given: KubeObject): void {
  const { uid } = given.metadata;
  if (!uid || uid === metadata.uid) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid ?? ''}`;
  throw conflict(type, metadata.name ?? '', why);
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 404) throw error;
}

function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, item]) => [key, sortedKeys(item)]),
  );
}
