import { isJsonObject, type JsonObject, parseExactJson } from '#lib/json';
import type { SchemaNode } from '../schema/schema-node.js';

/**
 * One step of a path in the form of `fieldsV1`: `f:name` for a field, `k:{"name":"a"}` for a list item by its
 * keys, `v:"x"` for the item of a set. Two steps are the same when their texts are.
 */
export type PathElement = string;

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The name of a field's step; undefined for list items. */
function fieldName(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** An item of a list whose identity cannot be determined. */
export class UnnamedItem extends Error {}

/** The step to an item of a list of type set or map. */
export function itemElement(list: SchemaNode, item: unknown): PathElement {
  return list.listType === 'set' ? setElement(item) : keyedElement(list, item);
}

function setElement(item: unknown): PathElement {
  if (item === null)
    throw new UnnamedItem("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new UnnamedItem('not supported: associative list with lists as elements');
  if (isJsonObject(item))
    throw new UnnamedItem("associative list without keys has an element that's a map type");
  return `v:${JSON.stringify(item)}`;
}

function keyedElement(list: SchemaNode, item: unknown): PathElement {
  if (item === null) throw new UnnamedItem('associative list with keys may not have a null element');
  if (!isJsonObject(item)) throw new UnnamedItem('associative list with keys may not have non-map elements');
  const keys = keysOf(list, item);
  if (Object.keys(keys).length === 0) {
    const names = `[${list.listMapKeys.map((key) => JSON.stringify(key)).join(' ')}]`;
    throw new UnnamedItem(
      `associative list with keys has an element that omits all key fields ${names} (and doesn't have default values for any key fields)`,
    );
  }
  return `k:${JSON.stringify(keys)}`;
}

function keysOf(list: SchemaNode, item: JsonObject): JsonObject {
  const entries = list.listMapKeys.toSorted().flatMap((key) => {
    const value = item[key] ?? list.items?.property(key)?.default;
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(entries) as JsonObject;
}

/** A step as messages show it: `.spec`, `[name="a"]`, `[="x"]`. */
export function printElement(element: PathElement): string {
  const rest = element.slice(2);
  if (element.startsWith('f:')) return `.${rest}`;
  if (element.startsWith('v:')) return `[=${rest}]`;
  if (!element.startsWith('k:')) return `[${rest}]`;
  const keys = parseExactJson(rest) as JsonObject;
  return `[${Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',')}]`;
}

export function printPath(path: readonly PathElement[]): string {
  return path.map(printElement).join('');
}

export type Path = readonly PathElement[];

/**
 * A set of paths into an object, kept as a tree. A step can be a member itself, have members below it, or both. Sets
 * are values: every operation makes a new one (parts are shared).
 */
export class FieldSet {
  static readonly EMPTY = new FieldSet(new Set(), new Map());

  private constructor(
    readonly members: ReadonlySet<PathElement>,
    readonly children: ReadonlyMap<PathElement, FieldSet>,
  ) {}

  static of(
    members: Iterable<PathElement>,
    children: Iterable<readonly [PathElement, FieldSet]> = [],
  ): FieldSet {
    const kept = new Map([...children].filter(([, set]) => !set.isEmpty));
    const set = new Set(members);
    return set.size === 0 && kept.size === 0 ? FieldSet.EMPTY : new FieldSet(set, kept);
  }

  /** Union of the sets, each read once: joining them one by one copies all the former ones. */
  static unionOf(sets: readonly FieldSet[]): FieldSet {
    const [first = FieldSet.EMPTY, ...others] = sets.filter((set) => !set.isEmpty);
    if (others.length === 0) return first;
    const members = new Set<PathElement>();
    const below = new Map<PathElement, FieldSet[]>();
    for (const set of [first, ...others]) {
      for (const element of set.members) members.add(element);
      for (const [element, child] of set.children) {
        const known = below.get(element);
        if (known) known.push(child);
        else below.set(element, [child]);
      }
    }
    return FieldSet.of(
      members,
      [...below].map(([element, children]) => [element, FieldSet.unionOf(children)] as const),
    );
  }

  static fromPaths(paths: readonly Path[]): FieldSet {
    const builder = new FieldSetBuilder();
    for (const path of paths) path.reduce((here, element) => here.below(element), builder).add();
    return builder.build();
  }

  get isEmpty(): boolean {
    return this.members.size === 0 && this.children.size === 0;
  }

  /** Every step that leads anywhere, sorted. */
  get elements(): readonly PathElement[] {
    return [...both(this.members, this.children.keys())].toSorted();
  }

  has(path: Path): boolean {
    const [first, ...rest] = path;
    if (first === undefined) return false;
    return rest.length === 0 ? this.members.has(first) : (this.children.get(first)?.has(rest) ?? false);
  }

  /** Fields below a step. */
  below(element: PathElement): FieldSet {
    return this.children.get(element) ?? FieldSet.EMPTY;
  }

  union(other: FieldSet): FieldSet {
    if (this.isEmpty) return other;
    if (other.isEmpty) return this;
    const children = new Map(this.children);
    for (const [element, set] of other.children) {
      children.set(element, children.get(element)?.union(set) ?? set);
    }
    return FieldSet.of(both(this.members, other.members), children);
  }

  intersection(other: FieldSet): FieldSet {
    const children = [...this.children].map(
      ([element, set]) => [element, set.intersection(other.below(element))] as const,
    );
    return FieldSet.of(
      [...this.members].filter((element) => other.members.has(element)),
      children,
    );
  }

  /** The set without the paths of the other; paths below them stay. */
  difference(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    const children = [...this.children].map(
      ([element, set]) => [element, set.difference(other.below(element))] as const,
    );
    return FieldSet.of(
      [...this.members].filter((element) => !other.members.has(element)),
      children,
    );
  }

  /** The set without the paths of the other and everything below them. */
  recursiveDifference(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    const children = [...this.children]
      .filter(([element]) => !other.members.has(element))
      .map(([element, set]) => [element, set.recursiveDifference(other.below(element))] as const);
    return FieldSet.of(
      [...this.members].filter((element) => !other.members.has(element)),
      children,
    );
  }

  /** Adds every declared field that leads to a member: removing items then removes emptied objects too. */
  withNamedFields(schema: SchemaNode | undefined): FieldSet {
    const members = new Set(this.members);
    const children: (readonly [PathElement, FieldSet])[] = [];
    for (const [element, set] of this.children) {
      const name = fieldName(element);
      if (name !== undefined && schema?.property(name) !== undefined) members.add(element);
      const below = name === undefined ? schema?.items : schema?.field(name);
      children.push([element, set.withNamedFields(below)]);
    }
    return FieldSet.of(members, children);
  }

  /** Number of members. */
  get size(): number {
    return [...this.children.values()].reduce((sum, set) => sum + set.size, this.members.size);
  }

  /** Every member's path, in the order of `fieldsV1`; each is made when it is asked for. */
  *paths(prefix: Path = []): Generator<Path> {
    for (const element of this.elements) {
      const path = [...prefix, element];
      if (this.members.has(element)) yield path;
      yield* this.below(element).paths(path);
    }
  }

  equals(other: FieldSet): boolean {
    return (
      this.members.size === other.members.size &&
      this.children.size === other.children.size &&
      [...this.members].every((element) => other.members.has(element)) &&
      [...this.children].every(([element, set]) => set.equals(other.below(element)))
    );
  }
}

function both(left: Iterable<PathElement>, right: Iterable<PathElement>): ReadonlySet<PathElement> {
  return new Set([...left, ...right]);
}

/**
 * Collects paths into a set, from a place on: a walk over an object takes the builder of each place along,
 * since a path from the root costs its length, five hundred steps for each of a hundred thousand fields.
 */
export class FieldSetBuilder {
  // most places are leaves
  #children: Map<PathElement, FieldSetBuilder> | undefined;
  #isMember = false;

  /** The builder of a step. */
  below(element: PathElement): FieldSetBuilder {
    const known = this.#children?.get(element);
    if (known !== undefined) return known;
    const made = new FieldSetBuilder();
    (this.#children ??= new Map()).set(element, made);
    return made;
  }

  /** Makes this place a member; the root cannot be one. */
  add(): void {
    this.#isMember = true;
  }

  build(): FieldSet {
    if (this.#children === undefined) return FieldSet.EMPTY;
    const children = [...this.#children];
    return FieldSet.of(
      children.filter(([, builder]) => builder.#isMember).map(([element]) => element),
      children.map(([element, builder]) => [element, builder.build()] as const),
    );
  }
}
