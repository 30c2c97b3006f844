import type { JsonObject } from '#lib/json';
import type { A2aError } from './envelope.js';
import type { SendParameters } from './parameters.js';
import type { PushWire } from './push-parameters.js';
import type { Task, TaskEvent } from './task.js';

/** Operation of a method; both wires have their own names for it. */
export type Operation =
  'send' | 'stream' | 'get' | 'list' | 'cancel' | 'subscribe' | PushOperation | 'extendedCard';

/** Operations on the receivers of notifications about a task. */
export type PushOperation = 'pushSet' | 'pushGet' | 'pushList' | 'pushDelete';

/** One version of the protocol on the wire. */
export interface Wire {
  readonly version: '0.3' | '1.0';
  readonly methods: ReadonlyMap<string, Operation>;
  /** @throws A2aError */
  readonly parseSend: (params: unknown) => SendParameters;
  readonly renderTask: (task: Task) => JsonObject;
  /** The result of a sent message. */
  readonly renderSent: (task: Task) => JsonObject;
  readonly push: PushWire;
  /** Body of a notification. */
  readonly renderPushed: (task: Task) => JsonObject;
  readonly renderEvent: (event: TaskEvent) => JsonObject;
  readonly renderErrorData: (error: A2aError) => unknown;
  /** True when a message to a finished task begins a new one in its context. */
  readonly restartsTasks: boolean;
  /** True when reading a finished task is an error. */
  readonly refusesFinished: boolean;
}
