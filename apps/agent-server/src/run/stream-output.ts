import { LegacyMessages } from './legacy-messages.js';
import type { RunEvent } from './run-feed.js';
import type { StreamMode } from './run-request.js';
import type { SecretWords } from './secret-words.js';
import { wireJson } from './wire-value.js';

type Dict = Record<string, unknown>;

function isDict(value: unknown): value is Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The checkpoint that a configuration names, as the wire shows it. */
export function checkpointOf(config: unknown): Dict | null {
  if (!isDict(config) || !isDict(config['configurable'])) return null;
  const { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map } = config['configurable'];
  if (thread_id === undefined) return null;
  return {
    thread_id,
    checkpoint_ns: checkpoint_ns ?? '',
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_map: checkpoint_map ?? null,
  };
}

/** A configuration without what is the server's own business. */
function publicConfig(config: unknown): unknown {
  if (!isDict(config)) return config;
  const { configurable, tags, metadata, recursionLimit } = config;
  const shown = isDict(configurable)
    ? Object.fromEntries(Object.entries(configurable).filter(([key]) => !key.startsWith('__')))
    : configurable;
  return { configurable: shown, tags, metadata, recursion_limit: recursionLimit };
}

function checkpointOnWire(payload: unknown): unknown {
  if (!isDict(payload)) return payload;
  const { config, parentConfig, tasks, ...rest } = payload;
  return {
    ...rest,
    config: publicConfig(config),
    parent_config: publicConfig(parentConfig),
    checkpoint: checkpointOf(config),
    parent_checkpoint: checkpointOf(parentConfig),
    tasks: Array.isArray(tasks)
      ? tasks.map((task: Dict) => {
          const { state, ...other } = task;
          const checkpoint = checkpointOf(state);
          return checkpoint ? { ...other, checkpoint } : task;
        })
      : tasks,
  };
}

/** Modes that tell of errors in their own shapes. */
const WITH_ERRORS: ReadonlySet<StreamMode> = new Set(['debug', 'tasks', 'events', 'checkpoints']);

/** Turns what a graph streams into events of the wire, as far as they were asked for. */
export class StreamOutput {
  readonly #modes: ReadonlySet<StreamMode>;
  readonly #legacy: LegacyMessages | undefined;
  /** The metadata of a model's call is one object for all its tokens. */
  readonly #metadataJson = new WeakMap<object, string>();
  #lastValues: unknown;
  #interrupts: unknown[] | undefined;

  constructor(
    modes: readonly StreamMode[],
    /** Called for each event that is wanted. */
    private readonly emit: (event: RunEvent) => void,
    /** Whether anybody reads: unread output need not become text. */
    private readonly isWanted: () => boolean,
    private readonly secrets: SecretWords,
  ) {
    this.#modes = new Set(modes);
    this.#legacy = this.#modes.has('messages') ? new LegacyMessages() : undefined;
  }

  /** The newest full state of the outermost graph. */
  get lastValues(): unknown {
    return this.#lastValues;
  }

  /** What the graph stopped for; undefined when it went on to its end. */
  get interrupts(): readonly unknown[] | undefined {
    return this.#interrupts;
  }

  /** One chunk of `stream` with a list of modes: `[mode, payload]`, or `[namespace, mode, payload]`. */
  chunk(chunk: unknown): void {
    if (!Array.isArray(chunk)) return;
    const [namespace, mode, payload] = (chunk.length === 3 ? chunk : [[], ...(chunk as unknown[])]) as [
      string[],
      string,
      unknown,
    ];
    const isRoot = namespace.length === 0;
    if (mode === 'values' && isRoot) this.#note(payload);
    if (!this.isWanted() && !this.#legacy) return;
    const suffix = isRoot ? '' : `|${namespace.join('|')}`;
    switch (mode) {
      case 'messages':
        this.#message(payload, suffix);
        break;
      case 'values':
        for (const event of isRoot ? (this.#legacy?.values(payload) ?? []) : []) this.emit(event);
        this.#event('values', suffix, payload);
        break;
      case 'debug':
        this.#event('debug', suffix, this.#debug(payload));
        break;
      case 'checkpoints':
        this.#event('checkpoints', suffix, checkpointOnWire(payload));
        break;
      case 'updates':
      case 'custom':
      case 'tasks':
        this.#event(mode, suffix, payload);
        break;
      default: // a mode that nobody asked for
    }
  }

  /** The graph is not called at all: it had stopped in this state already. */
  stopped(values: unknown): void {
    this.#lastValues = values;
    this.#interrupts = [];
  }

  /** One event of `streamEvents`. */
  libraryEvent(event: unknown): void {
    if (this.isWanted()) this.#event('events', '', event);
  }

  #note(values: unknown): void {
    if (!isDict(values) || !Array.isArray(values['__interrupt__'])) {
      this.#lastValues = values;
      return;
    }
    const { __interrupt__: interrupts, ...rest } = values;
    this.#interrupts = [...(this.#interrupts ?? []), ...(interrupts as unknown[])];
    if (Object.keys(rest).length > 0) this.#lastValues = rest;
  }

  #debug(payload: unknown): unknown {
    return isDict(payload) && payload['type'] === 'checkpoint'
      ? { ...payload, payload: checkpointOnWire(payload['payload']) }
      : payload;
  }

  #event(mode: StreamMode, suffix: string, payload: unknown): void {
    if (!this.#modes.has(mode)) return;
    const data = wireJson(payload);
    this.emit({ event: `${mode}${suffix}`, data: WITH_ERRORS.has(mode) ? this.secrets.hide(data) : data });
  }

  #message(payload: unknown, suffix: string): void {
    const [message, metadata] = payload as [object, Dict];
    if (this.#modes.has('messages-tuple')) {
      let text = this.#metadataJson.get(metadata);
      if (text === undefined) {
        text = wireJson({ ...metadata, graph_node: metadata['langgraph_node'] });
        this.#metadataJson.set(metadata, text);
      }
      this.emit({ event: `messages${suffix}`, data: `[${wireJson(message)},${text}]` });
    }
    for (const event of this.#legacy?.token([message, metadata]) ?? []) this.emit(event);
  }
}
