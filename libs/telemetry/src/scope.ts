import { AsyncLocalStorage } from 'node:async_hooks';
import type { OpenSpan } from './tracing.js';

/** Request or reconcile to which the work in progress belongs. */
export interface Scope {
  /** Fields in every log line of the work: the request's id, or controller, key and reconcile id. */
  readonly fields: Readonly<Record<string, string>>;
  /** The span around the work; none while nothing is traced. */
  readonly span?: OpenSpan;
  /** Aborted, with the reason, once the client of the request has gone or has its answer. */
  readonly left?: () => AbortSignal;
}

const storage = new AsyncLocalStorage<Scope>();
const EMPTY: Scope = { fields: {} };

/** The scope of the work that runs now. */
export function currentScope(): Scope {
  return storage.getStore() ?? EMPTY;
}

/**
 * Aborted once the client of the request has gone, so that no one waits for its work. Undefined outside of
 * requests.
 */
export function clientLeft(): AbortSignal | undefined {
  return currentScope().left?.();
}

/** Runs work, and whatever it starts, in a scope. */
export function inScope<T>(scope: Scope, work: () => T): T {
  return storage.run(scope, work);
}

/** Runs work that belongs to nothing around the call, which only happened to set it off. */
export function outsideScope<T>(work: () => T): T {
  return storage.run(EMPTY, work);
}

/** Runs work whose log lines carry these fields besides those of its surroundings. */
export function withLogFields<T>(fields: Scope['fields'], work: () => T): T {
  const before = currentScope();
  return storage.run({ ...before, fields: { ...before.fields, ...fields } }, work);
}
