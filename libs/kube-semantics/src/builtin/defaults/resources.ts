import { isJsonObject } from '#lib/json';
import { formatQuantity, parseQuantity } from '../../quantity/quantity.js';
import type { Fill } from './fill.js';

/** Writes the quantities of a resource list the way Kubernetes does: as text, `1000m` as `1`. */
export function canonicalQuantities(name: string): Fill {
  return (object) => {
    const list = object[name];
    if (!isJsonObject(list)) return object;
    const entries = Object.entries(list).map(([resource, value]) => [resource, canonical(value)] as const);
    if (entries.every(([resource, value]) => list[resource] === value)) return object;
    return { ...object, [name]: Object.fromEntries(entries) };
  };
}

/** One quantity in canonical form; a malformed one is left for validation to refuse. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const quantity = parseQuantity(String(value));
  return quantity === undefined ? value : formatQuantity(quantity);
}
