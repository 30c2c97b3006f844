import type { AttributeValue } from '../span.js';

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
