import type { PublicErrorCode } from '#lib/errors';
import type { ModuleExport, StoreSettings } from '#lib/graph-configuration';
import { type JsonObject, parseShort } from '#lib/json';
import type { GraphSource } from '../graph/graph-folder.js';
import type { RunEnd } from '../store/row/claimed-run.js';
import { END } from '../log/logged-event.js';
import type { CancelAction } from '../store/row/run-row.js';
import type { Frame, Sent } from './frame.js';
import type { AskedQuestions } from './questions.js';

/** Values that are serialised, one after the other in the body of the message, in this order. */
interface Part {
  readonly channel: string;
  readonly type: string;
  readonly bytes: number;
}

interface CheckpointPlace {
  /** Number of the run that asks; undefined for a question about a thread. */
  readonly run?: number;
  readonly threadId: string;
  readonly namespace: string;
}

/** Body: checkpoint and metadata as JSON, then the values. */
interface PutCheckpoint extends CheckpointPlace {
  readonly what: 'put-checkpoint';
  readonly checkpointId: string;
  readonly parentId?: string;
  readonly checkpointBytes: number;
  readonly metadataBytes: number;
  readonly blobs: readonly (Part & { readonly version: string })[];
}

interface PutWrites extends CheckpointPlace {
  readonly what: 'put-writes';
  readonly checkpointId: string;
  readonly taskId: string;
  readonly taskPath: string;
  /** An existing write of the same place is replaced, not kept. */
  readonly replaces: boolean;
  readonly writes: readonly (Part & { readonly idx: number })[];
}

interface GetCheckpoint extends CheckpointPlace {
  readonly what: 'get-checkpoint';
  /** Undefined: the newest. */
  readonly checkpointId?: string;
}

/** Request for checkpoints, newest first. */
interface ListCheckpoints extends CheckpointPlace {
  readonly what: 'list-checkpoints';
  readonly limit: number;
  readonly beforeId?: string;
  /** Metadata that they must contain. */
  readonly filter: JsonObject;
}

/** Finds the parts of channels that are stored as changes, at a checkpoint. */
interface DeltaHistory extends CheckpointPlace {
  readonly what: 'delta-history';
  /** Undefined: the newest. */
  readonly checkpointId?: string;
  readonly channels: readonly string[];
}

/** Body: a list of operations on items of the store, as JSON. */
interface Items {
  readonly what: 'items';
}

/** Request of a host that has no database of its own. */
export type Fetch = PutCheckpoint | PutWrites | GetCheckpoint | ListCheckpoints | DeltaHistory | Items;

/** One checkpoint: in the body its JSON, that of its metadata, its values, and the writes of its tasks. */
export interface FetchedCheckpoint {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId: string | null;
  readonly checkpointBytes: number;
  readonly metadataBytes: number;
  readonly blobs: readonly Part[];
  readonly writes: readonly (Part & { readonly taskId: string })[];
}

/** The answer to a request: `tuples` of checkpoints, or `parts` of a delta history, oldest first. */
export interface Fetched {
  readonly tuples?: readonly FetchedCheckpoint[];
  /** Without a task: the last stored value of the channel. */
  readonly parts?: readonly (Part & { readonly taskId: string | null })[];
}

/** First message that a host gets. */
export interface LoadOrder {
  /** Real path of the agent's folder. */
  readonly folder: string;
  readonly graphs: readonly GraphSource[];
  /** Variables that the folder sets, for a host that was started before it was known. */
  readonly variables?: Readonly<Record<string, string>>;
  /** `postgres://…`. Secret. */
  readonly postgresUri: string;
  /** Database connections of this host. */
  readonly poolSize: number;
  readonly logLevel: string;
  /** Words that must not appear in output of the host. */
  readonly secrets: readonly string[];
  /** Other files of the agent that are imported. */
  readonly modules: readonly string[];
  /** For Python: folders from which the agent's packages are imported. */
  readonly importFolders: readonly string[];
  readonly store: StoreSettings;
  /** The function that assigns priorities to runs. */
  readonly priority?: ModuleExport | undefined;
  /** Limit per event, result or answer. */
  readonly maxTextBytes: number;
  /** The one module that the process is for, in place of graphs. */
  readonly module?: NamedModule;
}

/** A module that a setting of `langgraph.json` names. */
export interface NamedModule extends ModuleExport {
  /** Setting as in `auth.path`. */
  readonly setting: string;
}

/** Error of a question. */
export type Trouble =
  | { readonly kind: 'public'; readonly code: PublicErrorCode; readonly message: string }
  | { readonly kind: 'database'; readonly trouble: 'unavailable' | 'refused'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string; readonly stack: string };

/** The end of an attempt; its texts are in the body. */
export type WireOutcome =
  | {
      readonly kind: 'ended';
      readonly end: Omit<RunEnd, 'values' | 'interrupts'>;
      /** Characters of the interrupts, which come first. */
      readonly interruptsChars: number;
      /** Characters of the result. */
      readonly bodyChars: number;
      /** Position of the values: they often are the result. */
      readonly values: 'none' | 'body' | 'behind';
    }
  | { readonly kind: 'handed-back' }
  | { readonly kind: 'lost'; readonly message: string };

/** Demand for the output and the result of a run. */
export interface Wanted {
  readonly isWanted: boolean;
  readonly isAwaited: boolean;
}

/** Use of the threads in which a Python process calls plain functions of the agent. */
export interface ThreadReport {
  readonly most: number;
  /** Calls that no thread has taken yet. */
  readonly waiting: number;
  /** Running calls whose callers have given up. */
  readonly givenUp: number;
}

type Message<K extends string, H = object> = { readonly kind: K } & Readonly<H>;

/** Message of a server: id is the run's number, or the question's. */
export type ToHost =
  | Message<'load', LoadOrder>
  /** Body: the run as JSON. */
  | Message<'perform', Wanted>
  | Message<
      'stop',
      | { reason: 'handed-back' | 'lost' }
      | { reason: 'cancelled'; action: CancelAction; why?: string | undefined }
      | { reason: 'timed-out'; limitMs: number }
    >
  | Message<'wanted', Wanted>
  /** Tells the run to pause its output, or to resume it. */
  | Message<'hold', { isHeld: boolean }>
  | Message<'ask', { question: keyof AskedQuestions }>
  /** Answer once all earlier messages have begun. */
  | Message<'echo'>
  /** Address of the server of the graphs, which has no name of its own for itself. */
  | Message<'serving', { url: string }>
  /** Send output that waits elsewhere, and end. */
  | Message<'leave'>
  /** Answer to a fetch of a host; its bytes are in the body. */
  | Message<'fetched', Fetched>
  | Message<'denied', { trouble: 'fenced' | 'refused' | 'unavailable' | 'failed'; message: string }>;

/** Message of a host. */
export type FromHost =
  | Message<'loading', { graphId: string; file: string; waitsFor: readonly string[] }>
  /** The agent's own files compile: these. */
  | Message<'sources', { files: readonly string[] }>
  /** The agent is loaded, with the modules of packages that its files import, as URLs, and its version of LangGraph. */
  | Message<'loaded', { packages: readonly string[]; library?: string | undefined }>
  | Message<'refused', { message: string }>
  /** Body: the event's data. */
  | Message<'event', { event: string }>
  | Message<'outcome', { outcome: WireOutcome }>
  /** Body: the answer. */
  | Message<'answer'>
  | Message<'echo'>
  | Message<'trouble', { trouble: Trouble }>
  /** Sent twice a second or more: how late its timers are, its heap and, of Python, its threads. */
  | Message<'health', { lagMs: number; heapShare: number; threads?: ThreadReport }>
  /** A host without a database of its own asks for states and items; bytes are in the body. */
  | Message<'fetch', Fetch>;

/** Heads are small but for lists of files. */
const MAX_HEAD_CHARS = 16 * 1024 * 1024;

// python/agentplane_worker/frames.py has the same order
const TO_HOST = [
  'load',
  'perform',
  'stop',
  'wanted',
  'hold',
  'ask',
  'echo',
  'serving',
  'leave',
  'fetched',
  'denied',
] as const;
const FROM_HOST = [
  'sources',
  'loading',
  'loaded',
  'refused',
  'event',
  'outcome',
  'answer',
  'echo',
  'trouble',
  'health',
  'fetch',
] as const;

interface Received<M> {
  readonly id: number;
  readonly message: M;
  readonly body: Buffer;
}

function render(
  kinds: readonly string[],
  id: number,
  { kind, ...head }: { kind: string },
  body: Sent,
): Frame<Sent> {
  return { kind: kinds.indexOf(kind), id, head: JSON.stringify(head), body };
}

type EventMessage = Extract<FromHost, { kind: 'event' }>;

/** Limits of the kept names of events, which repeat with every token: their number and their length. */
const MAX_KEPT_NAMES = 256;
const MAX_KEPT_CHARS = 200;

const EVENT = FROM_HOST.indexOf('event');
const headsOfEvents = new Map<string, string>();
const eventsOfHeads = new Map<string, EventMessage>();

function kept<V>(values: Map<string, V>, key: string, make: () => V): V {
  const found = values.get(key);
  if (found !== undefined) return found;
  const made = make();
  if (values.size < MAX_KEPT_NAMES && key.length <= MAX_KEPT_CHARS) values.set(key, made);
  return made;
}

function parse(kinds: readonly string[], { kind, id, head, body }: Frame): Received<JsonObject> {
  const name = kinds[kind];
  if (name === undefined) throw new Error(`a frame of the unknown kind ${kind} arrived`);
  return { id, body, message: { ...(parseShort(head, MAX_HEAD_CHARS) as JsonObject), kind: name } };
}

export function toHost(message: ToHost, id = 0, body: Sent = ''): Frame<Sent> {
  return render(TO_HOST, id, message, body);
}

/** @throws Error for a head that the server would not read: it would end this process */
export function fromHost(message: FromHost, id = 0, body: Sent = ''): Frame<Sent> {
  const frame = frameOf(message, id, body);
  if (frame.head.length <= MAX_HEAD_CHARS) return frame;
  const found = `the head of a message "${message.kind}" has ${frame.head.length} characters`;
  throw new Error(`${found}; the limit is ${MAX_HEAD_CHARS}`);
}

function frameOf(message: FromHost, id: number, body: Sent): Frame<Sent> {
  if (message.kind !== 'event') return render(FROM_HOST, id, message, body);
  const { event } = message;
  return { kind: EVENT, id, head: kept(headsOfEvents, event, () => JSON.stringify({ event })), body };
}

// Both sides are of one build: messages are not validated.
export function parseToHost(frame: Frame): Received<ToHost> {
  return parse(TO_HOST, frame) as Received<ToHost>;
}

/** Readers go by the name, and one name is not for hosts: it ends the output of a run. */
function parseEvent(frame: Frame): EventMessage {
  const { message } = parse(FROM_HOST, frame) as Received<EventMessage>;
  const name: unknown = message.event;
  if (typeof name === 'string' && name !== END) return message;
  throw new Error(
    `an event of the run ${frame.id} has ${typeof name === 'string' ? 'the name of an end' : 'no name'}`,
  );
}

export function parseFromHost(frame: Frame): Received<FromHost> {
  const { kind, id, head, body } = frame;
  if (kind !== EVENT) return parse(FROM_HOST, frame) as Received<FromHost>;
  return { id, body, message: kept(eventsOfHeads, head, () => parseEvent(frame)) };
}
