import { parseJson } from '#lib/json';
import { DeltaSnapshot } from '@langchain/langgraph-checkpoint';
import { TAG } from './encode-state.js';
import { buildMessage } from './message-class.js';
import { pairs } from './pairs.js';

type Tagged = Readonly<Record<string, unknown>>;

/** Text of JSON back to the value of `encodeState`. No class outside a closed list is ever made from it. */
export function decodeState(text: string): unknown {
  const value: unknown = parseJson(text);
  // most values of a state have no tag at all
  return text.includes(`"${TAG}"`) ? decode(value) : value;
}

function decode(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = decode(value[at]);
    return value;
  }
  for (const [key, item] of Object.entries(value)) setOwn(value, key, decode(item));
  return Object.hasOwn(value, TAG) ? restore(value as Tagged) : value;
}

/** `__proto__` as a key of JSON is data like any other. */
function setOwn(target: object, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else (target as Record<string, unknown>)[key] = value;
}

/** Value of a tag; an unknown tag stays as it is. */
function restore(tagged: Tagged): unknown {
  const { [TAG]: tag, value, source, flags, message } = tagged;
  switch (tag) {
    case 'undefined':
      return undefined;
    case 'bigint':
      return BigInt(String(value));
    case 'number':
      return Number(value);
    case 'bytes':
      return new Uint8Array(Buffer.from(String(tagged.base64), 'base64'));
    case 'map':
      return new Map(pairs(tagged.entries));
    case 'set':
      return new Set(Array.isArray(tagged.values) ? tagged.values : []);
    case 'regexp':
      return new RegExp(String(source), String(flags));
    case 'error':
      return new Error(String(message));
    case 'delta':
      return new DeltaSnapshot(value);
    case 'object':
      return Object.fromEntries(pairs(tagged.entries) as [string, unknown][]);
    case 'message': {
      const fields = Object.fromEntries(pairs(tagged.fields) as [string, unknown][]);
      return buildMessage({ name: String(tagged.name), fields }) ?? fields;
    }
    default:
      return tagged;
  }
}
