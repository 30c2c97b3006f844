import type { Attributes, AttributeValue } from '../span.js';
import { nestAttributes } from './nest-attributes.js';

/** Attributes of a span that are taken for fields of its run, one name after the other; the rest becomes metadata. */
export class TakenAttributes {
  readonly #attributes: Attributes;
  readonly #taken = new Set<string>();

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  /** Value of an attribute, without taking it. */
  look(name: string): AttributeValue | undefined {
    return this.#attributes.get(name);
  }

  take(name: string): AttributeValue | undefined {
    const value = this.#attributes.get(name);
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
    for (const [name, value] of this.#attributes) {
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
    for (const [name, value] of this.#attributes) {
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
    return [...this.#attributes].filter(([name]) => !this.#taken.has(name));
  }
}
