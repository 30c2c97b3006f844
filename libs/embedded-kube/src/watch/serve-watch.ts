import { randomInt } from 'node:crypto';
import {
  badRequest,
  expired,
  isSelected,
  type Selection,
  type ServedType,
  storageKey,
} from '#lib/kube-semantics';
import type { Clock } from '#lib/time';
import { isTrue } from '../http/request-body.js';
import type { AnswerStream, Reply, RequestContext } from '../http/request-context.js';
import { piecesOf } from '../http/write-parts.js';
import { checkWatchOptions, parseRevision } from '../list/list-options.js';
import type { Presenter } from '../present/presenter.js';
import type { ObjectStore } from '../store/object-store.js';
import { CommittedObject, lettersOf, type StoredChange, type StoredObject } from '../store/stored-object.js';
import type { SharedTexts, WatchHub } from './watch-hub.js';

/**
 * Made once for all watches that an object leaves by the same change, which are told of it one after the other: one may
 * take 35 ms to print. That of the last change alone: changes are kept for minutes.
 */
let last: { readonly change: StoredChange; readonly left: StoredObject } | undefined;

/** Object that leaves the selection of a watch: how it last matched, with the revision of the change. */
export function asLeft(change: StoredChange): StoredObject {
  if (last?.change !== change)
    last = { change, left: atRevision(change.before ?? change.after, change.after.revision) };
  return last.left;
}

function atRevision({ object }: StoredObject, revision: number): StoredObject {
  const shown = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
  return new CommittedObject(JSON.stringify(shown), revision, shown);
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/**
 * Event of a change for a watch with selectors: an object that begins to match is ADDED, one that ceases to
 * is DELETED. Undefined when the watch does not see it.
 */
export function selectedChange(change: StoredChange, selection: Selection): WatchEventType | undefined {
  const { type, before, after } = change;
  if (!isInScope(change, selection)) return undefined;
  // an object of the past is parsed for it
  if (!hasSelectors(selection)) return type;
  // the past of a change from before a restart may be unknown: then it may have matched
  const didMatch = type !== 'ADDED' && (before === undefined || isSelected(selection, before.object));
  if (type === 'DELETED') return didMatch ? 'DELETED' : undefined;
  const matches = isSelected(selection, after.object);
  if (matches) return didMatch ? 'MODIFIED' : 'ADDED';
  return didMatch ? 'DELETED' : undefined;
}

/** True when the content of an object decides. */
function hasSelectors({ labels, fields }: Selection): boolean {
  return labels.length > 0 || fields.length > 0;
}

/** True when a change is of an object that the selection may have, as far as its name tells. */
function isInScope({ namespace, name }: StoredChange, selection: Selection): boolean {
  if (selection.namespace !== undefined && selection.namespace !== namespace) return false;
  return selection.name === undefined || selection.name === name;
}

export interface WatchRequest {
  readonly context: RequestContext;
  readonly served: ServedType;
  readonly selection: Selection;
  readonly presenter: Presenter;
}

export interface WatchSources {
  readonly store: ObjectStore;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly texts: SharedTexts;
}

const DEFAULT_TIMEOUT_SECONDS = 1800;
const BOOKMARK_INTERVAL_MS = 60_000;
/** Some hundred milliseconds of parsing. */
const MAX_PARSED_LETTERS = 4 * 1024 * 1024;
const INITIAL_EVENTS_END = { 'k8s.io/initial-events-end': 'true' };

/** True when a watch begins with all objects, and not with the changes after a version. */
export function beginsWithObjects(query: URLSearchParams): boolean {
  const asked = query.get('sendInitialEvents');
  return asked === null ? !parseRevision(query.get('resourceVersion')) : isTrue(asked);
}

/**
 * A watch: first what the client has not seen (all objects, or the changes after its resource version), then every
 * change until its timeout. Bookmarks carry the position alone.
 */
export function serveWatch(request: WatchRequest, sources: WatchSources): Reply {
  const { query } = request.context;
  checkWatchOptions(query);
  const from = parseRevision(query.get('resourceVersion'));
  const hasBookmarks = isTrue(query.get('allowWatchBookmarks'));
  const sendInitial = beginsWithObjects(query);
  if (sendInitial) checkBeginning(request, sources);
  return {
    kind: 'stream',
    code: 200,
    contentType: 'application/json',
    start: (stream) => {
      const watch = new Watch(request, sources, stream);
      // no version and 0 both mean: from now on
      if (!sendInitial && !watch.replay(from || sources.store.revision)) return;
      if (sendInitial) watch.sendObjects();
      if (sendInitial && hasBookmarks && query.get('sendInitialEvents') !== null)
        watch.bookmark(INITIAL_EVENTS_END);
      watch.follow(hasBookmarks);
    },
  };
}

/**
 * All objects are sent at once: those that must be printed for it are few, or listed, which yields to other
 * requests.
 */
function checkBeginning({ served, selection, presenter }: WatchRequest, { store }: WatchSources): void {
  if (presenter.showsStored) return;
  let letters = 0;
  for (const stored of store.list(storageKey(served.type), selection.namespace))
    if (isSelected(selection, stored.object) && (letters += lettersOf(stored)) > MAX_PARSED_LETTERS)
      throw badRequest(
        `a watch of tables or metadata may begin with objects of ${MAX_PARSED_LETTERS} letters of JSON together: list them, and watch from the resourceVersion of the list`,
      );
}

class Watch {
  readonly #resource: string;
  #isFirst = true;

  constructor(
    private readonly request: WatchRequest,
    private readonly sources: WatchSources,
    private readonly stream: AnswerStream,
  ) {
    this.#resource = storageKey(request.served.type);
  }

  /** Every object there is, as ADDED. */
  sendObjects(): void {
    this.#sendMany(this.#objects());
  }

  *#objects(): Generator<string> {
    const { selection } = this.request;
    for (const stored of this.sources.store.list(this.#resource, selection.namespace))
      if (isSelected(selection, stored.object)) yield this.#text('ADDED', stored);
  }

  /** The changes after a revision; false when some of them are compacted and the client must list again. */
  replay(revision: number): boolean {
    const { history } = this.sources.store;
    const changes = history.since(revision)?.filter((change) => this.#mayShow(change));
    if (changes === undefined || this.#isTooMuch(changes)) {
      const gone = expired(`too old resource version: ${revision} (${history.compacted + 1})`);
      this.stream.write(`${JSON.stringify({ type: 'ERROR', object: gone.status() })}\n`);
      this.stream.end();
      return false;
    }
    this.#sendMany(this.#selected(changes));
    return true;
  }

  #mayShow(change: StoredChange): boolean {
    return change.resource === this.#resource && isInScope(change, this.request.selection);
  }

  /** Changes are kept as texts: what would have to be parsed while everybody waits is listed again instead. */
  #isTooMuch(changes: readonly StoredChange[]): boolean {
    const { selection, presenter } = this.request;
    if (!hasSelectors(selection) && presenter.showsStored) return false;
    return changes.reduce((sum, { after }) => sum + lettersOf(after), 0) > MAX_PARSED_LETTERS;
  }

  *#selected(changes: readonly StoredChange[]): Generator<string> {
    for (const change of changes) {
      const text = this.#textOf(change);
      if (text !== undefined) yield text;
    }
  }

  /** Every change from now on. */
  follow(hasBookmarks: boolean): void {
    const { context } = this.request;
    const { clock, hub } = this.sources;
    const ends = [hub.subscribe(this.#resource, (change) => this.#offer(change))];
    const end = (): void => {
      for (const each of ends.splice(0)) each();
      this.stream.end();
    };
    if (context.signal.aborted) return end();
    context.signal.addEventListener('abort', end, { once: true });
    ends.push(
      clock.after(timeoutSeconds(context.query) * 1000, () => {
        if (hasBookmarks) this.bookmark();
        end();
      }),
    );
    if (hasBookmarks) this.#bookmarkRegularly(ends);
  }

  bookmark(annotations?: Readonly<Record<string, string>>): void {
    this.stream.write(this.request.presenter.bookmark(this.sources.store.revision, annotations));
  }

  #bookmarkRegularly(ends: (() => void)[]): void {
    const slot = ends.length;
    const next = (): void => {
      ends[slot] = this.sources.clock.after(BOOKMARK_INTERVAL_MS, () => {
        this.bookmark();
        next();
      });
    };
    next();
  }

  #offer(change: StoredChange): void {
    const text = this.#textOf(change);
    if (text !== undefined) this.stream.write(text);
  }

  /** Thousands of small texts take as many writes, while everybody waits: together they are few. */
  #sendMany(texts: Iterable<string>): void {
    for (const piece of piecesOf(texts)) if (!this.stream.write(piece)) return;
  }

  /** Undefined when the watch does not see the change. */
  #textOf(change: StoredChange): string | undefined {
    const type = selectedChange(change, this.request.selection);
    if (type === undefined) return undefined;
    // an object that leaves a selection is shown as it last matched, with the revision of the change
    const isLeaving = type === 'DELETED' && change.type !== 'DELETED' && change.before !== undefined;
    return this.#text(type, isLeaving ? asLeft(change) : change.after);
  }

  #text(type: string, stored: StoredObject): string {
    const { presenter } = this.request;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const print = (): string => presenter.eventObject(stored, isFirst);
    const form = presenter.formOf(stored, isFirst);
    const shown = form === undefined ? print() : this.sources.texts.get(stored, form, print);
    return `{"type":"${type}","object":${shown}}\n`;
  }
}

function timeoutSeconds(query: URLSearchParams): number {
  const asked = Number(query.get('timeoutSeconds') ?? 0);
  // spread, so that clients which connected together do not all come back together
  return asked > 0 ? asked : DEFAULT_TIMEOUT_SECONDS + randomInt(DEFAULT_TIMEOUT_SECONDS);
}
