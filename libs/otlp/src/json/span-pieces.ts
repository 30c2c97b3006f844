import { itemsOf, type JsonSpan, JsonSyntaxError, type JsonWalk, membersOf, validatingJson } from '#lib/json';
import { MAX_SPANS, type SpanPlace } from '../span.js';

/**
 * A part of a request as its JSON text: a resource (undefined if none is named), a scope of it, a span of
 * that. Each belongs to those before it.
 */
type SpanPiece =
  | { readonly kind: 'resource' | 'scope'; readonly text: string | undefined }
  | { readonly kind: 'span'; readonly text: string; readonly place: SpanPlace };

/** Error with the reason why a request cannot be read. */
type Fail = (why: string, isTooLarge?: boolean) => never;

/** Characters between two pauses. */
const STRETCH = 64 * 1024;
/**
 * Maximum levels of the whole text, whose pieces are parsed one by one: values that are nested too deeply in
 * a span are left out of it.
 */
const MAX_LEVELS = 10_000;

/**
 * The parts of an `ExportTraceServiceRequest` in JSON, which is checked as a whole first: a parser would take
 * all of it at once, a tenth of a second for 16 MiB.
 * @param text of the body
 * @yields undefined at pauses for other work
 */
export function* spanPieces(
  body: Buffer,
  text: string,
  fail: Fail,
): Generator<SpanPiece | undefined, void, undefined> {
  yield* validated(body, fail);
  const within = new Reader(text, fail);
  const request = yield* within.members(0, 'it');
  for (const [r, group] of yield* within.objects(request, 'resourceSpans')) {
    const resourceSpans = yield* within.members(group.start, 'resourceSpans');
    yield { kind: 'resource', text: within.textOf(resourceSpans, 'resource') };
    for (const [s, ofScope] of yield* within.objects(resourceSpans, 'scopeSpans')) {
      const scopeSpans = yield* within.members(ofScope.start, 'scopeSpans');
      yield { kind: 'scope', text: within.textOf(scopeSpans, 'scope') };
      for (const [at, { start, end }] of yield* within.objects(scopeSpans, 'spans')) {
        const place = ['resourceSpans', r, 'scopeSpans', s, 'spans', at];
        yield { kind: 'span', text: text.slice(start, end), place };
        if (within.isLong(end)) yield undefined;
      }
      if (within.isLong(ofScope.end)) yield undefined;
    }
    if (within.isLong(group.end)) yield undefined;
  }
}

function* validated(body: Buffer, fail: Fail): JsonWalk<void> {
  try {
    yield* validatingJson(body, MAX_LEVELS);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    fail(error.message);
  }
}

/** Spans of the wanted members of an object, by their names in JSON. */
type Members = ReadonlyMap<string, JsonSpan>;

const WANTED: ReadonlyMap<string, string> = new Map(
  ['resourceSpans', 'resource', 'scopeSpans', 'scope', 'spans'].flatMap((name) => [
    [name, name],
    [name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`), name],
  ]),
);

class Reader {
  #pausedAt = 0;

  constructor(
    private readonly text: string,
    private readonly fail: Fail,
  ) {}

  /** True when the walk should yield before it continues after this place. */
  isLong(at: number): boolean {
    if (at - this.#pausedAt < STRETCH) return false;
    this.#pausedAt = at;
    return true;
  }

  /**
   * Members of an object: of names that are there twice the last counts, as for parsers; null counts as
   * absent.
   */
  *members(start: number, name: string): JsonWalk<Members> {
    const found = new Map<string, JsonSpan>();
    let isObject = false;
    for (const member of membersOf(this.text, start)) {
      isObject = true;
      const wanted = member && WANTED.get(member.name);
      if (!member) yield undefined;
      else if (wanted !== undefined && !this.text.startsWith('null', member.start)) found.set(wanted, member);
    }
    if (!isObject && !/^\s*\{/.test(this.text.slice(start, start + STRETCH)))
      this.fail(`${name} should be an object`);
    return found;
  }

  /** The objects of a list. */
  *objects(of: Members, name: string): JsonWalk<Iterable<readonly [at: number, place: JsonSpan]>> {
    const list = of.get(name);
    if (!list) return [];
    const isList = this.text[list.start] === '[';
    const places: JsonSpan[] = [];
    for (const item of isList ? itemsOf(this.text, list.start) : []) {
      if (!item) yield undefined;
      else if (places.length === MAX_SPANS)
        this.fail(`the request has more than ${MAX_SPANS} ${name} in one list; send fewer at a time`, true);
      else if (this.text[item.start] === '{') places.push(item);
      else this.fail(`${name} should be a list of objects`);
    }
    return isList ? places.entries() : this.fail(`${name} should be a list of objects`);
  }

  textOf(of: Members, name: string): string | undefined {
    const place = of.get(name);
    return place && this.text.slice(place.start, place.end);
  }
}
