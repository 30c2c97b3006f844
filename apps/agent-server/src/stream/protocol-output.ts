import { isJsonObject, type JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { SecretWords } from '../wire/secret-words.js';
import { wireJson } from '../wire/wire-value.js';
import { LastState } from './stream-output.js';
import type { RunEvent, RunOutput } from './run-event.js';
import {
  eventNameOf,
  isChannel,
  isLibraryProtocolEvent,
  type LibraryProtocolEvent,
} from './thread-protocol.js';

/** Channels that quote errors of the graph in their own shapes. */
const MAY_CARRY_ERRORS: ReadonlySet<string> = new Set(['tasks', 'tools', 'lifecycle']);

interface Asked {
  readonly interrupt_id: string;
  readonly payload: unknown;
}

function askedIn(interrupts: unknown): Asked[] {
  if (!Array.isArray(interrupts)) return [];
  return interrupts.flatMap((given: unknown) =>
    isJsonObject(given) && typeof given['id'] === 'string'
      ? [{ interrupt_id: given['id'], payload: given['value'] ?? null }]
      : [],
  );
}

/**
 * Output of a run for readers of its thread: the events of `streamEvents` of version 3, with the end of the
 * run and the questions that it stopped for. Everything is kept, since its readers come and go.
 */
export class ProtocolOutput implements RunOutput {
  readonly #state = new LastState();
  readonly #asked = new Set<string>();

  constructor(
    private readonly graphId: string,
    private readonly emit: (event: RunEvent) => void,
    private readonly secrets: SecretWords,
    private readonly clock: Clock,
  ) {}

  get lastValues(): unknown {
    return this.#state.values;
  }

  get interrupts(): readonly unknown[] | undefined {
    return this.#state.interrupts;
  }

  interrupted(interrupts: readonly unknown[]): void {
    this.#state.interrupted(interrupts);
  }

  stopped(values: unknown): void {
    this.#state.stopped(values);
  }

  finished(): void {
    const event = this.#state.interrupts ? 'interrupted' : 'completed';
    this.#show('lifecycle', [], { event, graph_name: this.graphId });
  }

  /** One event of `streamEvents`. */
  event(given: unknown): void {
    if (!isLibraryProtocolEvent(given)) return;
    const { method, params } = given;
    const { namespace, data } = params;
    switch (method) {
      case 'values':
        return this.#values(given);
      case 'updates':
        if (isJsonObject(data) && data['node'] === '__interrupt__') this.#ask(namespace, askedOf(data));
        else this.#show('updates', namespace, isJsonObject(data) ? data['values'] : data, params.node);
        return undefined;
      case 'lifecycle':
        // that of the outermost graph is the run's own
        if (namespace.length > 0) this.#show('lifecycle', namespace, data);
        return undefined;
      case 'custom': {
        const name = isJsonObject(data) ? data['name'] : undefined;
        this.#show(typeof name === 'string' && name !== '' ? `custom:${name}` : 'custom', namespace, data);
        return undefined;
      }
      default:
        if (method.startsWith('custom:'))
          this.#show(method, namespace, { name: method.slice('custom:'.length), payload: data });
        else if (isChannel(method)) this.#show(method, namespace, data, params.node);
        return undefined;
    }
  }

  #values({ params: { namespace, data } }: LibraryProtocolEvent): void {
    if (namespace.length === 0) this.#state.note(data);
    if (!isJsonObject(data)) return this.#show('values', namespace, data);
    const { __interrupt__: interrupts, ...values } = data;
    this.#ask(namespace, askedIn(interrupts));
    if (Object.keys(values).length > 0) this.#show('values', namespace, values);
  }

  /** Emits each question once, although it appears in updates and in the state. */
  #ask(namespace: readonly string[], asked: readonly Asked[]): void {
    for (const question of asked) {
      if (this.#asked.has(question.interrupt_id)) continue;
      this.#asked.add(question.interrupt_id);
      this.#show('input', namespace, question);
    }
  }

  #show(channel: string, namespace: readonly string[], data: unknown, node?: unknown): void {
    const params = {
      namespace,
      timestamp: this.clock.now().getTime(),
      ...(typeof node === 'string' ? { node } : {}),
      data,
    };
    const text = wireJson(params);
    this.emit({
      event: eventNameOf({ channel, namespace }),
      data: MAY_CARRY_ERRORS.has(channel) ? this.secrets.hide(text) : text,
    });
  }
}

function askedOf({ values }: JsonObject): Asked[] {
  return askedIn(
    isJsonObject(values) && '__interrupt__' in values ? values['__interrupt__'] : valuesOf(values),
  );
}

/** Reads values: the library puts a list that is no object behind `value`. */
function valuesOf(values: unknown): unknown {
  return isJsonObject(values) ? values['value'] : values;
}
