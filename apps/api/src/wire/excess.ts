import 'reflect-metadata';
import type { FieldProblem } from '#lib/errors';

/** A client must not fill memory with its own problems. */
export const MAX_PROBLEMS = 100;

/** Limits of the contents of a field of a request. */
export interface FieldNote {
  /** Maximum number of items, for a list. */
  readonly maxItems?: number;
  /** Class of the object, or of each item. */
  readonly inside?: () => new () => object;
  readonly isRequired?: boolean;
  /** True for an object in which an ignored member would weaken what is asked for: unknown ones are refused. */
  readonly isStrict?: boolean;
}

const FIELD_NOTE = Symbol('field of a request');

/** Marks a field as declared. */
export function Noted(note: FieldNote): PropertyDecorator {
  return (prototype, name) => Reflect.defineMetadata(FIELD_NOTE, note, prototype, name);
}

export type RequestClass = new () => object;

/** The note of a declared field; undefined for a name that is not known. */
export function noteOf(type: RequestClass, name: string): FieldNote | undefined {
  return Reflect.getMetadata(FIELD_NOTE, type.prototype as object, name) as FieldNote | undefined;
}

/**
 * Finds lists that are longer than they may be, and very many unknown names, by the lengths alone: making an instance and
 * a list of problems of each item takes a kilobyte and twenty microseconds, for three bytes that were sent.
 * @returns at most `MAX_PROBLEMS`; none for a body that is to be checked field by field
 */
export function findExcess(type: RequestClass, body: object): readonly FieldProblem[] {
  const excess = new Excess();
  excess.object(type, body, ['body']);
  return excess.problems;
}

class Excess {
  readonly #long: FieldProblem[] = [];
  readonly #unknown: FieldProblem[] = [];

  get problems(): readonly FieldProblem[] {
    const isMuchUnknown = this.#unknown.length === MAX_PROBLEMS;
    return isMuchUnknown ? [...this.#long, ...this.#unknown].slice(0, MAX_PROBLEMS) : this.#long;
  }

  object(type: RequestClass, value: object, loc: readonly (string | number)[]): void {
    for (const [name, member] of Object.entries(value)) {
      if (this.#isFull()) return;
      const note = noteOf(type, name);
      const unknown = { loc: [...loc, name], msg: 'Extra inputs are not permitted', type: 'extra_forbidden' };
      if (note) this.#field(note, member, [...loc, name]);
      // an instance with a `constructor` of its own would be checked as one of another class
      else if (name in Object.prototype) this.#long.push(unknown);
      else this.#unknown.push(unknown);
    }
  }

  #field(note: FieldNote, value: unknown, loc: readonly (string | number)[]): void {
    const { inside, maxItems = Infinity } = note;
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) {
      if (inside && note.maxItems === undefined) this.object(inside(), value, loc);
    } else if (value.length > maxItems)
      this.#long.push({ loc, msg: `List should have at most ${maxItems} items`, type: 'too_long' });
    else if (inside && note.maxItems !== undefined)
      for (const [at, item] of (value as unknown[]).entries())
        if (typeof item === 'object' && item !== null) this.object(inside(), item, [...loc, at]);
  }

  #isFull(): boolean {
    return this.#long.length === MAX_PROBLEMS || this.#unknown.length === MAX_PROBLEMS;
  }
}

interface HeldValue {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/**
 * Values of fields that hold any JSON. class-transformer takes a member `constructor` of a plain value for the class of the
 * value, so it gets a body without them.
 */
export class FreeValues {
  readonly #held: HeldValue[] = [];

  /** The body without them. */
  take(type: RequestClass, body: object, path: HeldValue['path'] = []): object {
    const kept: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(body) as [string, unknown][])
      kept[name] = this.#takeField(noteOf(type, name), member, [...path, name]);
    return kept;
  }

  /** Puts them into the instance that was made of the body. */
  giveBack(instance: object): void {
    for (const { path, value } of this.#held) {
      const owner = path.slice(0, -1).reduce<object>((at, name) => Reflect.get(at, name) as object, instance);
      Reflect.set(owner, path.at(-1) ?? '', value);
    }
  }

  #takeField(note: FieldNote | undefined, value: unknown, path: HeldValue['path']): unknown {
    if (!note || typeof value !== 'object' || value === null) return value;
    const { inside } = note;
    if (!inside) {
      this.#held.push({ path, value });
      return undefined;
    }
    if (!Array.isArray(value)) return this.take(inside(), value, path);
    return (value as unknown[]).map((item, at) =>
      typeof item === 'object' && item !== null ? this.take(inside(), item, [...path, at]) : item,
    );
  }
}
