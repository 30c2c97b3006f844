import type { Attributes, AttributeValue } from '../span.js';

/** Attributes of a span that are taken for fields of its run, one name after the other; the rest becomes metadata. */
export class TakenAttributes {
  readonly #taken = new Set<string>();

  constructor(private readonly attributes: Attributes) {}

  /** Value of an attribute, without taking it. */
  look(name: string): AttributeValue | undefined {
    return this.attributes.get(name);
  }

  take(name: string): AttributeValue | undefined {
    const value = this.attributes.get(name);
    if (value !== undefined) this.#taken.add(name);
    return value;
  }

  /** The first of these that has a value; all of them are taken. */
  takeFirst(names: readonly string[]): AttributeValue | undefined {
    const values = names.map((name) => this.take(name));
    return values.find((value) => value !== undefined && value !== null && value !== '');
  }

  /** The same, as text. */
  takeText(...names: readonly string[]): string | undefined {
    const value = this.takeFirst(names);
    if (value === undefined || typeof value === 'object') return undefined;
    return String(value);
  }

  /** Attributes whose names begin with `prefix`, with the rest of the name. */
  takeBelow(prefix: string): readonly (readonly [rest: string, value: AttributeValue])[] {
    const found: (readonly [string, AttributeValue])[] = [];
    for (const [name, value] of this.attributes) {
      if (!name.startsWith(prefix) || name.length === prefix.length) continue;
      this.#taken.add(name);
      found.push([name.slice(prefix.length), value]);
    }
    return found;
  }

  /** A list that was spread over attributes: `prefix.0.role`, `prefix.0.content`, `prefix.1.role`. */
  takeList(prefix: string): readonly AttributeValue[] | undefined {
    const spread: (readonly [string, AttributeValue])[] = [];
    const above = `${prefix}.`;
    for (const [name, value] of this.attributes) {
      const first = name.charCodeAt(above.length);
      if (!(first >= 0x30 && first <= 0x39) || !name.startsWith(above)) continue;
      this.#taken.add(name);
      spread.push([name.slice(above.length), value]);
    }
    if (spread.length === 0) return undefined;
    const nested = nestAttributes(spread);
    return Array.isArray(nested) ? nested : [nested];
  }

  get left(): readonly (readonly [name: string, value: AttributeValue])[] {
    return [...this.attributes].filter(([name]) => !this.#taken.has(name));
  }
}

/** Names of a level that holds one thing alone, which conventions put between a list and the members of its items. */
const WRAPPERS = ['message', 'message_content', 'tool_call', 'document', 'embedding'];
/** Levels that a name may have; the rest of a longer one is one name. */
const MAX_LEVELS = 12;
const INDEX = /^\d{1,6}$/;

type Node = Map<string, Node | AttributeValue>;

/** Values by dotted names as one value: levels whose names are all numbers are lists, in their order. */
export function nestAttributes(
  spread: readonly (readonly [name: string, value: AttributeValue])[],
): AttributeValue {
  const root: Node = new Map();
  for (const [name, value] of spread) {
    const parts = name.split('.', MAX_LEVELS);
    const whole = parts.join('.').length;
    const last = `${parts.pop() ?? ''}${name.slice(whole)}`;
    let node = root;
    for (const part of parts) {
      const next = node.get(part);
      const below: Node = next instanceof Map ? next : new Map();
      if (below !== next) node.set(part, below);
      node = below;
    }
    // a name that is also a level is dropped in favour of the level
    if (!(node.get(last) instanceof Map)) node.set(last, value);
  }
  return valueOf(root);
}

function valueOf(node: Node): AttributeValue {
  const members = [...node].map(
    ([name, value]) => [name, value instanceof Map ? valueOf(value) : value] as const,
  );
  if (members.every(([name]) => INDEX.test(name)))
    return members.sort(([one], [other]) => Number(one) - Number(other)).map(([, value]) => value);
  const [only] = members;
  if (members.length === 1 && only && WRAPPERS.includes(only[0]) && isObject(only[1])) return only[1];
  // no name of a member reaches into a prototype
  const object = Object.create(null) as Record<string, AttributeValue>;
  for (const [name, value] of members) object[name] = value;
  return object;
}

function isObject(value: AttributeValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
