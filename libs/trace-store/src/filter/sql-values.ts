/** Types of the values of filters. */
export type SqlType = 'uuid' | 'text' | 'timestamptz' | 'interval' | 'numeric' | 'float8' | 'jsonb';

/** Collects the values of a statement; its text has the returned parameters instead. */
export interface SqlValues {
  /** @returns SQL for the value: of fixed form, whatever the value is */
  bind(type: SqlType | `${SqlType}[]`, value: string): string;
  /**
   * True when rows are read in their order, a day at a time: joins would read other days with each of them.
   */
  readonly isCopy?: boolean;
}

/** Values as parameters: `$5::text`. */
export class ParameterValues implements SqlValues {
  readonly #first: number;
  readonly #places = new Map<string, number>();

  /** @param first number of the first parameter that is free */
  constructor(first = 1) {
    this.#first = first;
  }

  bind(type: SqlType | `${SqlType}[]`, value: string): string {
    return `$${this.#first + placeOf(this.#places, type, value)}::${type}`;
  }

  /** Values to pass, from the first number on. */
  get values(): readonly string[] {
    return valuesOf(this.#places);
  }
}

/**
 * Values as settings of the transaction, for COPY, which takes no parameters: `current_setting('agentplane.filter_0')`.
 * The caller sets them, by `set_config` with parameters.
 */
export class SettingValues implements SqlValues {
  readonly isCopy = true;
  readonly #places = new Map<string, number>();

  bind(type: SqlType | `${SqlType}[]`, value: string): string {
    const name = settingName(placeOf(this.#places, type, value));
    // a subquery is read once, not for each row; the second cast keeps ANY from taking it for a set of rows
    return `(SELECT current_setting('${name}')::${type})::${type}`;
  }

  /** Names and values. */
  get settings(): readonly (readonly [string, string])[] {
    return valuesOf(this.#places).map((value, at) => [settingName(at), value] as const);
  }
}

function settingName(at: number): string {
  return `agentplane.filter_${at}`;
}

/** A parameter has one type, so only values that agree in both share a place. */
function placeOf(places: Map<string, number>, type: string, value: string): number {
  const name = `${type}\0${value}`;
  const place = places.get(name) ?? places.size;
  places.set(name, place);
  return place;
}

function valuesOf(places: ReadonlyMap<string, number>): readonly string[] {
  return [...places.keys()].map((name) => name.slice(name.indexOf('\0') + 1));
}
