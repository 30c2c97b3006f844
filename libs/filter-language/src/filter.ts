import type { Instant } from '#lib/time';
import type { Comparator, PairFamily, PairField, RunField, SearchField } from './fields.js';

/**
 * Operand that a field is compared with, by its type: text, name, word, scalar and uuid (lower case) are
 * text; a number is its decimal text, so that no digit is lost; a time is its instant; a duration is
 * microseconds.
 */
export type Operand = string | boolean | Instant | null;

interface Placed {
  /** Characters of the text before it. */
  readonly at: number;
}

/** A field against a value. `values` has the items of `in`, and one value for every other operator. */
export interface Comparison<Field extends RunField | PairField> extends Placed {
  readonly kind: 'compare';
  readonly field: Field;
  readonly operator: Comparator;
  readonly values: readonly Operand[];
}

export type PairCondition =
  | Comparison<PairField>
  | ({ readonly kind: 'and' | 'or'; readonly conditions: readonly PairCondition[] } & Placed)
  | ({ readonly kind: 'not'; readonly condition: PairCondition } & Placed);

/**
 * A checked filter: every field fits its operator and its value, and which conditions are about the same pair is
 * resolved. Comparisons with missing values are false, `neq` with one is true.
 */
export type Filter =
  | ({ readonly kind: 'and' | 'or'; readonly conditions: readonly Filter[] } & Placed)
  | ({ readonly kind: 'not'; readonly condition: Filter } & Placed)
  | Comparison<RunField>
  /** Some pair of the run meets the condition. */
  | ({ readonly kind: 'pair'; readonly family: PairFamily; readonly condition: PairCondition } & Placed)
  | ({ readonly kind: 'tag'; readonly tag: string } & Placed)
  /** The metadata contain this object as Postgres' `@>` means it; `json` is its text. */
  | ({ readonly kind: 'contains'; readonly json: string } & Placed)
  | ({ readonly kind: 'key'; readonly key: string } & Placed)
  | ({ readonly kind: 'search'; readonly fields: readonly SearchField[]; readonly text: string } & Placed);

/**
 * The conditions of a filter that read more than the row of a run: its error, metadata, inputs, outputs and
 * feedback. All conditions on one pair count as one.
 */
export function lookupsOf(filter: Filter): readonly Filter[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.conditions.flatMap(lookupsOf);
    case 'not':
      return lookupsOf(filter.condition);
    case 'compare':
      return filter.field === 'error' ? [filter] : [];
    case 'tag':
      return [];
    case 'pair':
    case 'contains':
    case 'key':
    case 'search':
      return [filter];
    default:
      return filter satisfies never;
  }
}
