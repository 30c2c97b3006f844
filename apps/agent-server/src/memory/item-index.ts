import { errorText, PublicError } from '#lib/errors';
import type { StoreIndex } from '#lib/graph-configuration';
import type { JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { FieldVector } from '../store/item/put-item.js';
import { leftOf, type Scope } from '../store/scope.js';
import { Turns } from '../store/turns.js';
import { TextBudget, textsAtPath } from './texts-at-path.js';

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
