import { errorText, PublicError } from '#lib/errors';
import type { StoreIndex } from '#lib/graph-configuration';
import { isJsonObject, type JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { FieldVector } from '../store/statement/items.js';
import { leftOf, type Scope } from '../store/scope.js';
import { Turns } from '../store/sql.js';

/** The whole value. */
const WHOLE = '$';

/**
 * Splits `a.b[0].{c,d}.*` into `a`, `b`, `[0]`, `{c,d}`, `*`. Each character is looked at once or twice,
 * whatever the path.
 */
const PARTS = /\[[^\][]*\]|\{[^{}]*\}|[^.[{]+/g;

/** Limit of values that are visited on all paths: `{a,a}.{a,a}` and so on doubles them with each part. */
const MAX_STEPS = 500_000;

/** Limit for all texts of one item: more than models take, and little enough for this process. */
const MAX_CHARS = 4 * 1024 * 1024;

/** Remaining budget for the texts of one item. */
class TextBudget {
  #steps = MAX_STEPS;
  #chars = MAX_CHARS;

  /** Characters that are left. */
  get chars(): number {
    return this.#chars;
  }

  /** @throws PublicError `invalid` */
  look(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0)
      throw new PublicError(
        'invalid',
        `store: the paths of what is embedded look at more than ${MAX_STEPS} values; name less`,
      );
  }

  /** @throws PublicError `too_large` */
  write(chars: number): void {
    this.#chars -= chars;
    if (this.#chars < 0)
      throw new PublicError(
        'too_large',
        `store: the texts to embed have more than ${MAX_CHARS} characters; name fields in "index", or put with "index": false`,
      );
  }
}

/** Minimum length of a value with indents; counted no further than `most`. */
function indentedLength(value: unknown, indent: number, most: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let length = 2;
  const add = (inner: unknown): boolean => {
    length += indent + indentedLength(inner, indent + 2, most - length);
    return length > most;
  };
  if (Array.isArray(value)) value.some(add);
  else
    Object.entries(value).some(([name, inner]) => {
      length += name.length;
      return add(inner);
    });
  return length;
}

function textOf(value: unknown, budget: TextBudget): string[] {
  if (value === null || value === undefined) return [];
  budget.write(indentedLength(value, 2, budget.chars)); // first: the text may be a hundred times the value
  const text = typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
  return text.trim() === '' ? [] : [text];
}

/** Members by name, own ones alone. */
function member(value: unknown, name: string): unknown[] {
  return isJsonObject(value) && Object.hasOwn(value, name) ? [value[name]] : [];
}

function item(value: unknown, index: string): unknown[] {
  if (!Array.isArray(value)) return [];
  if (index === '*') return value;
  const at = Number(index);
  return Number.isInteger(at) && at >= -value.length && at < value.length ? [value.at(at)] : [];
}

function step(value: unknown, part: string, budget: TextBudget): unknown[] {
  if (part.startsWith('[')) return item(value, part.slice(1, -1));
  if (part.startsWith('{'))
    return part
      .slice(1, -1)
      .split(',')
      .flatMap((path) => valuesAt(value, path.trim(), budget));
  if (part !== '*') return member(value, part);
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function valuesAt(value: unknown, path: string, budget: TextBudget): unknown[] {
  const parts: readonly string[] = path.match(PARTS) ?? [];
  budget.look(1 + path.length);
  return parts.reduce<unknown[]>(
    (values, part) =>
      values.flatMap((one) => {
        const found = step(one, part, budget);
        budget.look(1 + found.length);
        return found;
      }),
    [value],
  );
}

/**
 * The texts at a path of a value, in the notation of LangGraph's stores: `title`, `metadata.title`,
 * `chapters[*].text`, `authors[-1]`, `{title,summary}`, `*`, and `$` for the whole value as JSON.
 * @throws PublicError `invalid`, `too_large` when the budget ends
 */
export function textsAtPath(value: unknown, path: string, budget = new TextBudget()): string[] {
  const found = path === WHOLE || path === '' ? [value] : valuesAt(value, path, budget);
  return found.flatMap((one) => textOf(one, budget));
}

/** Texts of one item: each is a call of a model, or a part of one. */
const MAX_TEXTS = 100;

/** Limit per path, which names its vector in an index of the table. */
const MAX_PATH_CHARS = 500;

/** Milliseconds that a model gets. */
const PATIENCE_MS = 60_000;

/**
 * Questions to the model at once: a model bills each, and serves few at a time. A limit per caller leaves
 * places to others.
 */
const TURNS = { places: 32, placesPerCaller: 8, maxWaiting: 100, what: 'Embedding' };

/** Characters of a model's error that are quoted. */
const QUOTED = 500;

/** Turns texts into vectors; as narrow as a pipe to another process. */
export interface Embedder {
  /** @param signal aborted once no caller waits for it any more */
  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<unknown>;
  embedQuery(text: string, signal?: AbortSignal): Promise<unknown>;
}

export interface ItemIndexParts extends Pick<StoreIndex, 'dims' | 'fields' | 'embed'> {
  readonly embedder: Embedder;
  readonly clock: Clock;
}

/** A vector of length one: its product with another is their cosine. */
function unitVector(numbers: readonly number[]): Float32Array {
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => (length > 0 ? number / length : 0));
}

function isNumbers(given: unknown): given is readonly number[] {
  return (
    Array.isArray(given) && given.every((number) => typeof number === 'number' && Number.isFinite(number))
  );
}

function refuse(message: string, msg: string): PublicError {
  return new PublicError('invalid', `store: ${message}`, [
    { loc: ['body', 'index'], msg, type: 'value_error' },
  ]);
}

/** Texts of a value that are embedded, each with the name of its vector. */
function textsOf(
  value: JsonObject,
  paths: readonly string[],
): { readonly field: string; readonly text: string }[] {
  const budget = new TextBudget();
  const texts = [...new Set(paths)].flatMap((path) => {
    if (path.length > MAX_PATH_CHARS)
      throw refuse(
        `a path of what is embedded has ${path.length} characters; ${MAX_PATH_CHARS} at most`,
        `must not hold a path of more than ${MAX_PATH_CHARS} characters`,
      );
    const found = textsAtPath(value, path, budget);
    return found.map((text, at) => ({ field: found.length > 1 ? `${path}.${at}` : path, text }));
  });
  if (texts.length <= MAX_TEXTS) return texts;
  throw refuse(
    `${texts.length} texts to embed; ${MAX_TEXTS} at most`,
    `must not name more than ${MAX_TEXTS} texts, of which the value has ${texts.length}`,
  );
}

/** Embeddings of items, by the model of the agent's settings. */
export class ItemIndex {
  readonly #turns = new Turns(TURNS);

  constructor(private readonly parts: ItemIndexParts) {}

  get dims(): number {
    return this.parts.dims;
  }

  /**
   * @param index paths instead of those of the settings; false for none
   * @throws PublicError `invalid` for too many texts, `too_large` for long ones, `unavailable` when the model fails, or too
   * many of the caller wait for it
   */
  async vectorsOf(
    scope: Scope,
    value: JsonObject,
    index: false | readonly string[] | undefined,
  ): Promise<FieldVector[]> {
    const texts = textsOf(value, index === false ? [] : (index ?? this.parts.fields));
    if (texts.length === 0) return [];
    const embedded = await this.#ask(scope, (model, signal) =>
      model.embedDocuments(
        texts.map(({ text }) => text),
        signal,
      ),
    );
    if (!Array.isArray(embedded) || embedded.length !== texts.length)
      throw this.#failed(`it did not answer with a vector for each of ${texts.length} texts`);
    return texts.map(({ field }, at) => ({ field, vector: this.#vector(embedded[at]) }));
  }

  /** @throws PublicError `unavailable` when the model fails, or too many of the caller wait for it */
  async vectorOf(scope: Scope, query: string): Promise<Float32Array> {
    return this.#vector(await this.#ask(scope, (model, signal) => model.embedQuery(query, signal)));
  }

  #failed(found: string, cause?: unknown): PublicError {
    return new PublicError(
      'unavailable',
      `Embedding by ${this.parts.embed} failed: ${found}; see store.index of langgraph.json`,
      [],
      { cause },
    );
  }

  #vector(given: unknown): Float32Array {
    const { dims } = this.parts;
    const numbers = ArrayBuffer.isView(given) ? Array.from(given as Float32Array) : given;
    if (!isNumbers(numbers)) throw this.#failed('a vector is not a list of numbers');
    if (numbers.length !== dims)
      throw this.#failed(`a vector has ${numbers.length} numbers where dims is ${dims}`);
    return unitVector(numbers);
  }

  #ask(scope: Scope, call: (model: Embedder, signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
    return this.#turns.take(scope, () => this.#answer(call), leftOf(scope));
  }

  async #answer(call: (model: Embedder, signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
    const { clock, embedder } = this.parts;
    let cancel: (() => void) | undefined;
    const abort = new AbortController();
    const silence = new Promise<never>((_, reject) => {
      cancel = clock.after(PATIENCE_MS, () => reject(new Error(`no answer within ${PATIENCE_MS / 1000} s`)));
    });
    try {
      return await Promise.race([call(embedder, abort.signal), silence]);
    } catch (error) {
      abort.abort();
      throw this.#failed(errorText(error).slice(0, QUOTED), error);
    } finally {
      cancel?.();
    }
  }
}
