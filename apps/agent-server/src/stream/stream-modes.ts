import { isJsonObject } from '#lib/json';
import { checkpointOnWire, wireJson } from '../wire/wire-value.js';
import { growingMessageRenderer } from './growing-message-renderer.js';
import { eventName, type LibrarySource, type Render } from './run-event.js';
import { tokenRenderer } from './token-renderer.js';

/** Definition of a stream mode. */
interface StreamModeDefinition {
  /** Modes that the library must stream so that the mode can be made. */
  readonly sources: readonly LibrarySource[];
  /** Name of its events, up to a namespace (`values|child`) or a sub-event (`messages/partial`). */
  readonly event: string;
  /** True when it shows checkpoints, so the library must make one after each step. */
  readonly needsCheckpoints: boolean;
  /** True when it is made of everything so far, so it must see events that come while no client reads. */
  readonly needsEverything: boolean;
  /** True when it quotes errors of the graph in its own shapes; secrets of the server are removed. */
  readonly mayCarryErrors: boolean;
  /** Renderers made anew for each run, which turn a payload of each source into events. */
  readonly renderers: () => Readonly<Partial<Record<LibrarySource, Render>>>;
}

/** One line of the table: without a renderer for each of its sources it does not compile. */
interface StreamModeLine<S extends LibrarySource>
  extends
    Pick<StreamModeDefinition, 'event'>,
    Partial<Pick<StreamModeDefinition, 'needsCheckpoints' | 'needsEverything' | 'mayCarryErrors'>> {
  readonly sources: readonly S[];
  readonly renderers: () => Readonly<Record<S, Render>>;
}

function mode<S extends LibrarySource>(definition: StreamModeLine<S>): StreamModeDefinition {
  return { needsCheckpoints: false, needsEverything: false, mayCarryErrors: false, ...definition };
}

/** Payloads as they are, or after a change of names, under the name of the mode. */
function plain(event: string, change: (payload: unknown) => unknown = (payload) => payload): Render {
  return ({ payload, namespace }) => [
    { event: eventName(event, namespace), data: wireJson(change(payload)) },
  ];
}

function debugOnWire(payload: unknown): unknown {
  return isJsonObject(payload) && payload['type'] === 'checkpoint'
    ? { ...payload, payload: checkpointOnWire(payload['payload']) }
    : payload;
}

/** Shows an error of a tool like errors of runs: an Error has no fields in JSON. */
function toolOnWire(payload: unknown): unknown {
  if (!isJsonObject(payload) || !(payload['error'] instanceof Error)) return payload;
  const { name, message } = payload['error'];
  return { ...payload, error: { error: name, message } };
}

/**
 * The stream modes of the wire. A payload that several modes are made of becomes events in this order: a state is shown
 * before the messages that it completes, as by LangGraph's own server, whose clients take the last event for the end.
 */
const STREAM_MODES = {
  'messages-tuple': mode({
    sources: ['messages'],
    event: 'messages',
    renderers: () => ({ messages: tokenRenderer() }),
  }),
  values: mode({
    sources: ['values'],
    event: 'values',
    renderers: () => ({ values: plain('values') }),
  }),
  messages: mode({
    sources: ['messages', 'values'],
    event: 'messages',
    needsEverything: true,
    renderers: growingMessageRenderer,
  }),
  updates: mode({
    sources: ['updates'],
    event: 'updates',
    renderers: () => ({ updates: plain('updates') }),
  }),
  custom: mode({
    sources: ['custom'],
    event: 'custom',
    renderers: () => ({ custom: plain('custom') }),
  }),
  events: mode({
    sources: ['events'],
    event: 'events',
    mayCarryErrors: true,
    renderers: () => ({ events: plain('events') }),
  }),
  tools: mode({
    sources: ['tools'],
    event: 'tools',
    mayCarryErrors: true,
    renderers: () => ({ tools: plain('tools', toolOnWire) }),
  }),
  debug: mode({
    sources: ['debug'],
    event: 'debug',
    needsCheckpoints: true,
    mayCarryErrors: true,
    renderers: () => ({ debug: plain('debug', debugOnWire) }),
  }),
  tasks: mode({
    sources: ['tasks'],
    event: 'tasks',
    mayCarryErrors: true,
    renderers: () => ({ tasks: plain('tasks') }),
  }),
  checkpoints: mode({
    sources: ['checkpoints'],
    event: 'checkpoints',
    needsCheckpoints: true,
    mayCarryErrors: true,
    renderers: () => ({ checkpoints: plain('checkpoints', checkpointOnWire) }),
  }),
} satisfies Readonly<Record<string, StreamModeDefinition>>;

/** Name of a stream mode on the wire. */
export type StreamMode = keyof typeof STREAM_MODES;

const TABLE: ReadonlyMap<string, StreamModeDefinition> = new Map(Object.entries(STREAM_MODES));

function isStreamMode(name: string): name is StreamMode {
  return TABLE.has(name);
}

/** Every stream mode, in the order of the table. */
export const STREAM_MODE_NAMES: readonly StreamMode[] = [...TABLE.keys()].filter(isStreamMode);

/** The definitions of these modes, in the order of the table. */
export function definitionsOf(modes: readonly StreamMode[]): readonly StreamModeDefinition[] {
  return STREAM_MODE_NAMES.filter((name) => modes.includes(name)).map((name) => STREAM_MODES[name]);
}

/** The library's stream modes that these are made of. Values are always wanted: the last ones are the result. */
export function libraryModesOf(modes: readonly StreamMode[]): LibrarySource[] {
  const sources = definitionsOf(modes).flatMap((definition) => definition.sources);
  return [...new Set<LibrarySource>(['values', ...sources])].filter((source) => source !== 'events');
}

/** Returns true when the graph must be called through `streamEvents`. */
export function usesLibraryEvents(modes: readonly StreamMode[]): boolean {
  return definitionsOf(modes).some((definition) => definition.sources.includes('events'));
}

/** Names of the events that these modes make. */
export function eventNamesOf(modes: readonly StreamMode[]): readonly string[] {
  return definitionsOf(modes).map((definition) => definition.event);
}
