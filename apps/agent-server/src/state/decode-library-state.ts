import { parseJson } from '#lib/json';
import { DeltaSnapshot } from '@langchain/langgraph-checkpoint';
import { buildMessage, isMessageClass } from './message-class.js';
import { pairs } from './pairs.js';

type Json = Readonly<Record<string, unknown>>;

const ESCAPED = '__lc_escaped__';

/**
 * Reads a value that LangGraph's own serialiser wrote, without the unsafe parts of that format: of `lc: 1`
 * objects only messages are made again, of `lc: 2` objects only JavaScript's own classes, and every other one
 * stays JSON. A stored object that names an unknown class therefore no longer makes its thread unreadable.
 */
export function decodeLibraryState(text: string): unknown {
  return revive(parseJson(text));
}

function revive(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(revive);
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === ESCAPED) return (value as Json)[ESCAPED];
  const revived = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item)]));
  if (revived.lc === 1) return reviveMessage(revived) ?? revived;
  return revived.lc === 2 ? reviveOwn(revived) : revived;
}

function reviveMessage({ type, id, kwargs }: Json): object | undefined {
  if (type !== 'constructor' || !Array.isArray(id) || typeof kwargs !== 'object' || kwargs === null)
    return undefined;
  const name = String(id.at(-1));
  if (!isMessageClass(id.slice(0, -1).join('/'), name)) return undefined;
  return buildMessage({ name, fields: { ...kwargs } });
}

function reviveOwn(record: Json): unknown {
  if (record.type === 'undefined') return undefined;
  if (record.type === 'delta_snapshot') return new DeltaSnapshot(record.value);
  const { id, args } = record;
  if (record.type !== 'constructor' || !Array.isArray(id) || !Array.isArray(args)) return record;
  const [first, second]: unknown[] = args;
  switch (id.join('/')) {
    case 'Set':
      return Array.isArray(first) ? new Set(first) : record;
    case 'Map':
      return Array.isArray(first) ? new Map(pairs(first)) : record;
    case 'Uint8Array':
      return Array.isArray(first) ? Uint8Array.from(first.map(Number)) : record;
    case 'Error':
      return new Error(String(first));
    case 'RegExp':
      return regularExpression(String(first), String(second)) ?? record;
    default:
      return record;
  }
}

function regularExpression(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}
