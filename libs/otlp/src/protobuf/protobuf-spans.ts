import {
  MAX_GROUPS,
  MAX_SPANS,
  type Attributes,
  type InstrumentationScope,
  type ReceivedSpan,
} from '../span.js';
import { SpanCount } from '../span-bounds.js';
import { UnreadableRequestError } from '../unreadable-request-error.js';
import { readScope, readSpan } from './read-span.js';
import { readAttributes } from './read-values.js';
import { FieldCount, WIRE, WireReader } from './wire-reader.js';

/** Places of a repeated field of a message, and of another that occurs once. */
interface Parts {
  readonly one: WireReader | undefined;
  readonly many: readonly WireReader[];
}

/** Fields 1 (a message) and 2 (messages), in whatever order they were written. */
function partsOf(reader: WireReader, count: GroupCount): Parts {
  const many: WireReader[] = [];
  let one: WireReader | undefined;
  while (reader.next())
    if (reader.field === 1 && reader.type === WIRE.bytes) one = reader.message();
    else if (reader.field === 2 && reader.type === WIRE.bytes) {
      count.add();
      many.push(reader.message());
    } else reader.skip();
  return { one, many };
}

/** Groups and spans of a request: each costs memory, however few bytes it has. */
class GroupCount {
  #left: number;

  constructor(
    most: number,
    private readonly what: string,
  ) {
    this.#left = most;
  }

  add(): void {
    if (this.#left-- > 0) return;
    throw new UnreadableRequestError(`the request has too many ${this.what}; send fewer at a time`, true);
  }
}

/** Fields that are read between two pauses, some milliseconds. */
const FIELDS_AT_ONCE = 50_000;

/**
 * The spans of an `ExportTraceServiceRequest`, each decoded when it is asked for. The request is checked only
 * as far as it is read.
 * @yields undefined at pauses for other work: a request may be nothing but groups without spans
 * @throws UnreadableRequestError
 */
export function* protobufSpans(body: Buffer): Generator<ReceivedSpan | undefined, void, void> {
  const groups = new GroupCount(MAX_GROUPS, 'groups of spans');
  const spans = new GroupCount(MAX_SPANS, 'spans');
  const fields = new FieldCount();
  let pausedAt = 0;
  const isLong = (): boolean => {
    if (fields.read - pausedAt < FIELDS_AT_ONCE) return false;
    pausedAt = fields.read;
    return true;
  };
  const request = new WireReader(body, fields);
  for (let r = 0; request.next();) {
    if (request.field !== 1 || request.type !== WIRE.bytes) {
      request.skip();
      continue;
    }
    groups.add();
    fields.begin();
    const { one, many } = partsOf(request.message(), groups);
    fields.begin();
    const resource: Attributes = one ? readAttributes(one, 1, new SpanCount()) : new Map();
    for (const [s, scopeSpans] of many.entries()) {
      fields.begin();
      const parts = partsOf(scopeSpans, spans);
      const scope: InstrumentationScope = parts.one ? readScope(parts.one) : { name: '', version: '' };
      for (const [at, span] of parts.many.entries()) {
        fields.begin();
        yield {
          resource,
          scope,
          span: readSpan(span),
          place: ['resourceSpans', r, 'scopeSpans', s, 'spans', at],
        };
        if (isLong()) yield undefined;
      }
      if (isLong()) yield undefined;
    }
    if (isLong()) yield undefined;
    fields.begin();
    r++;
  }
}
