import {
  type ByteRange,
  eachMember,
  expectEnd,
  type JsonWalk,
  OPEN_OBJECT,
  parseJson,
  QUOTE,
} from '#lib/json';
import { type ModelMembers, modelMembers } from '../price/price-book.js';
import { validatePayload, WHOLE_PAYLOAD } from './text-pieces.js';
import { parseRange } from './member-reader.js';
import { type Usage, usageAt } from './usage.js';

/** The model that a run called, as its sender names it. */
export interface ModelFacts {
  readonly model: string;
  /** The member that named it; undefined for `ls_model_name`. */
  readonly member: string | undefined;
}

export interface ExtraFacts {
  readonly usage?: Usage | undefined;
  readonly threadId?: string | undefined;
  readonly model?: ModelFacts | undefined;
  readonly provider?: string | undefined;
  /** The member `metadata` as it came, a view; of several the last, as parsers take it. */
  readonly metadata?: Buffer | undefined;
}

/** Names under which clients put the thread of a run into its metadata, first match wins. */
const THREAD_NAMES = ['session_id', 'conversation_id', 'thread_id'];

/** Maximum length of a name of a model or a provider; longer values are ignored. */
const MAX_NAME = 200;
/** An escape takes six bytes. */
const MAX_NAME_BYTES = MAX_NAME * 6 + 2;

function shortText(bytes: Buffer, { start, end }: ByteRange): string | undefined {
  if (bytes[start] !== QUOTE || end - start > MAX_NAME_BYTES) return undefined;
  const text = parseJson(bytes.toString('utf8', start, end)) as string;
  if (text === '' || text.length > MAX_NAME) return undefined;
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

const DEFAULT_MODEL_MEMBERS = modelMembers();

/** Keeps the model that comes first: of `ls_model_name`, of parameters of the call, of metadata. */
class ModelSearch {
  found: ModelFacts | undefined;
  #rank = Number.POSITIVE_INFINITY;

  constructor(private readonly members: ModelMembers) {}

  look(bytes: Buffer, member: string, range: ByteRange, isMetadata: boolean): void {
    const isOwn = isMetadata && member === 'ls_model_name';
    const at = isOwn ? -1 : this.members.get(member);
    if (at === undefined) return;
    const rank = isOwn || !isMetadata ? at : this.members.size + at;
    if (rank >= this.#rank) return;
    const model = shortText(bytes, range);
    if (model === undefined) return;
    this.#rank = rank;
    this.found = { model, member: isOwn ? undefined : member };
  }
}

/**
 * Usage, thread id, model and provider from `extra.metadata`; the model also from `extra.invocation_params`. Validates the
 * JSON.
 * @throws JsonSyntaxError
 * @param members that may name the model beside `ls_model_name`
 */
export function* factsInExtra(
  extra: Buffer,
  members: ModelMembers = DEFAULT_MODEL_MEMBERS,
): JsonWalk<ExtraFacts> {
  const threads = new Map<string, string>();
  const models = new ModelSearch(members);
  let usage: Usage | undefined;
  let provider: string | undefined;
  let metadata: ByteRange | undefined;
  if (extra[0] !== OPEN_OBJECT) return (yield* validatePayload(extra)) ?? {};
  const visit = (name: string, range: ByteRange): JsonWalk<unknown> | void => {
    if (name === 'metadata') metadata = range;
    if (extra[range.start] !== OPEN_OBJECT) return undefined;
    if (name === 'invocation_params')
      return eachMember(extra, range.start, (inner, at) => models.look(extra, inner, at, false));
    if (name !== 'metadata') return undefined;
    return eachMember(extra, range.start, (inner, innerRange) => {
      if (inner === 'usage_metadata') usage = usageAt(inner, parseRange(extra, innerRange));
      else if (inner === 'ls_provider') provider = shortText(extra, innerRange);
      else if (THREAD_NAMES.includes(inner)) {
        const value = parseRange(extra, innerRange);
        if (typeof value === 'string' && value !== '')
          threads.set(inner, value.slice(0, 512).replaceAll('\0', '\uFFFD').toWellFormed());
        else if (typeof value === 'number') threads.set(inner, String(value));
      } else models.look(extra, inner, innerRange, true);
    });
  };
  expectEnd(extra, yield* eachMember(extra, 0, visit, WHOLE_PAYLOAD));
  const threadName = THREAD_NAMES.find((name) => threads.has(name));
  const threadId = threadName === undefined ? undefined : threads.get(threadName);
  return {
    usage,
    threadId,
    provider,
    model: models.found,
    metadata: metadata && extra.subarray(metadata.start, metadata.end),
  };
}
