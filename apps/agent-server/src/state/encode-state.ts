import { isDeltaSnapshot } from '@langchain/langgraph-checkpoint';
import { messageParts } from './message-class.js';

/**
 * Key of the objects that represent values without JSON. Values of an agent or a caller cannot imitate one: a
 * plain object with this key is written as its entries.
 */
export const TAG = '$ap';

type Replacer = (this: unknown, key: string, value: unknown) => unknown;

/** JSON representation of `raw`, or of `value`, which is `raw` after its own `toJSON`. */
function represent(raw: unknown, value: unknown): unknown {
  if (raw === undefined) return { [TAG]: 'undefined' };
  if (typeof raw === 'bigint') return { [TAG]: 'bigint', value: raw.toString() };
  if (typeof raw === 'number' && !Number.isFinite(raw)) return { [TAG]: 'number', value: String(raw) };
  if (typeof raw === 'object' && raw !== null) return representObject(raw) ?? plain(value);
  return plain(value);
}

function representObject(raw: object): unknown {
  if (Array.isArray(raw)) return raw;
  if (raw instanceof Uint8Array)
    return {
      [TAG]: 'bytes',
      base64: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64'),
    };
  if (raw instanceof Map) return { [TAG]: 'map', entries: [...raw] };
  if (raw instanceof Set) return { [TAG]: 'set', values: [...raw] };
  if (raw instanceof RegExp) return { [TAG]: 'regexp', source: raw.source, flags: raw.flags };
  if (raw instanceof Error) return { [TAG]: 'error', message: raw.message };
  if (isDeltaSnapshot(raw) && !isPlain(raw)) return { [TAG]: 'delta', value: raw.value };
  const message = isPlain(raw) ? undefined : messageParts(raw);
  return message && { [TAG]: 'message', name: message.name, fields: Object.entries(message.fields) };
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function plain(value: unknown): unknown {
  const isTagged = typeof value === 'object' && value !== null && Object.hasOwn(value, TAG);
  return isTagged ? { [TAG]: 'object', entries: Object.entries(value) } : value;
}

const replacer: Replacer = function (key, value) {
  return represent((this as Record<string, unknown>)[key], value);
};

/** Cuts objects that contain themselves at the repetition, as LangGraph's own serialiser does. */
function cuttingReplacer(): Replacer {
  const above: unknown[] = [];
  return function (key, value) {
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (typeof value === 'object' && value !== null && above.includes((this as Record<string, unknown>)[key]))
      return '[Circular]';
    const raw = (this as Record<string, unknown>)[key];
    const represented = represent(raw, value);
    if (typeof represented === 'object' && represented !== null) {
      if (represented !== raw) above.push(raw);
      above.push(represented);
    }
    return represented;
  };
}

/**
 * JSON of any value of a graph's state; equal values of JSON come back equal, whatever keys they have.
 * @returns undefined for a value without any text: a function or a symbol by itself
 */
export function encodeState(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, replacer);
  } catch (error) {
    // the only TypeError of JSON.stringify with these representations is a cycle
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, cuttingReplacer());
  }
}
