import { isUtf8 } from 'node:buffer';
import type { FieldProblem } from '#lib/errors';
import {
  atOnce,
  type ByteRange,
  eachMember,
  expectEnd,
  JsonSyntaxError,
  type JsonWalk,
  parseJson,
  QUOTE,
} from '#lib/json';
import { isUuid } from '#lib/resources';
import type { Instant } from '#lib/time';
import type { ModelMembers } from '../price/price-book.js';
import { parseDottedOrder, type DottedOrder } from './dotted-order.js';
import { type LightMembers, type MemberNote, MemberReader, storable } from './member-reader.js';
import { repairSurrogates, replaceNonFinite, textPieces, trimmed, validatePayload } from './text-pieces.js';
import type { ProjectReference } from '../project/project.js';
import type { RunChange, RunOperation } from './run-operation.js';
import {
  COLUMN_LIST,
  type ColumnsWith,
  PAYLOAD_FIELDS,
  type PayloadField,
  type PropertyOf,
  type RunPayloads,
  type Sent,
} from '../run/stored-run.js';
import { type ExtraFacts, factsInExtra } from './extra-facts.js';
import { firstTokenTime, hasFigures, MAX_TOKENS, usageInOutputs, usageOf } from './usage.js';
import { isSummedCall } from '../run/own-usage.js';

type Payloads = Partial<Record<PayloadField, Buffer>>;

/** Light members that are read: those of columns, and those that place the run. */
const LIGHT: ReadonlySet<string> = new Set([
  'id',
  'trace_id',
  'parent_run_id',
  'dotted_order',
  'session_id',
  'session_name',
  'project_name',
  'start_time',
  ...COLUMN_LIST.flatMap(({ name, sent, isTotal }) => (sent || isTotal ? [name] : [])),
]);

const READ: Readonly<Record<Sent, (reader: MemberReader, name: string) => unknown>> = {
  name: (reader, name) => reader.cutText(name, MAX_NAME_CHARS),
  word: (reader, name) => reader.text(name, 100)?.toLowerCase(),
  uuid: (reader, name) => reader.uuid(name),
  time: (reader, name) => reader.time(name),
  status: (reader) => reader.status(),
  tags: (reader) => reader.tags(),
  tier: (reader) => reader.tier(),
};

const SENT = COLUMN_LIST.flatMap(({ name, property, sent }) =>
  sent ? [{ name, property, read: READ[sent] }] : [],
);

type SentValues = Pick<RunChange, PropertyOf<ColumnsWith<{ sent: string }>>>;

/** Values of columns that are members of the operation. */
function sentValues(reader: MemberReader): SentValues {
  const values: Record<string, unknown> = {};
  for (const { name, property, read } of SENT) values[property] = read(reader, name);
  return values as SentValues;
}

/** Members that clients send for each run and that say nothing new to the store. */
const REDUNDANT = new Set(['child_runs', 'child_execution_order', 'execution_order', 'attachments']);
/** Values that carry no information. */
const EMPTY = new Set(['null', '[]', '{}', '""', 'false']);
/** Unknown members of one run that are named. */
const MAX_UNKNOWN = 10;
const MAX_MEMBER_NAME = 100;

/** A parsed value takes many times the memory of its text. */
const MAX_LIGHT_BYTES = 1 << 20;
const MAX_NAME_CHARS = 10_000;

interface SplitRun {
  readonly light: LightMembers;
  readonly payloads: Payloads;
  readonly tooLong: readonly string[];
  readonly nonFinite: readonly string[];
  readonly unknown: readonly string[];
}

/** Maximum size of members beside the payloads that have parts of their own. */
const MAX_SMALL_BYTES = 16_384;

/** Names of payloads: most runs of a batch have one of them, and would be parsed in vain. */
const PAYLOAD_NAMES = ['"inputs"', '"outputs"', '"extra"'];

/**
 * All members of a short run that has nothing but known scalars and tags: the engine's own parser takes a tenth of the
 * scanner's time. Undefined for any other, whatever is the matter with it.
 */
function smallMembers(run: Buffer): LightMembers | undefined {
  if (run.length > MAX_SMALL_BYTES || PAYLOAD_NAMES.some((name) => run.includes(name)) || !isUtf8(run))
    return undefined;
  let members: unknown;
  try {
    members = parseJson(run.toString());
  } catch {
    return undefined;
  }
  if (typeof members !== 'object' || members === null || Array.isArray(members)) return undefined;
  for (const [name, value] of Object.entries(members)) {
    if (value === null) continue;
    if (!LIGHT.has(name)) return undefined;
    if (typeof value !== 'object') continue;
    const isTags = name === 'tags' && Array.isArray(value) && value.every((tag) => typeof tag === 'string');
    if (!isTags) return undefined;
  }
  return members as LightMembers;
}

/** Splits the run's object into small parsed members and payload bytes, which are not strictly checked yet. @throws JsonSyntaxError */
function* split({ run }: RunOperation): JsonWalk<SplitRun> {
  const small = smallMembers(run);
  if (small) return { light: small, payloads: {}, tooLong: [], nonFinite: [], unknown: [] };
  const light: Record<string, unknown> = {};
  const payloads: Payloads = {};
  const [tooLong, nonFinite, unknown]: [string[], string[], string[]] = [[], [], []];
  if (!isUtf8(run)) throw new JsonSyntaxError('the text is not UTF-8', 0);
  const visit = (name: string, { start, end }: ByteRange): void => {
    const payload = PAYLOAD_FIELDS.find((field) => field === name);
    if (payload) payloads[payload] = run.subarray(start, end);
    else if (!LIGHT.has(name)) {
      const isEmpty = end - start <= 5 && EMPTY.has(run.toString('latin1', start, end));
      if (!isEmpty && !REDUNDANT.has(name) && unknown.length < MAX_UNKNOWN)
        unknown.push(name.slice(0, MAX_MEMBER_NAME).toWellFormed());
    } else if (end - start > MAX_LIGHT_BYTES) tooLong.push(name);
    else {
      const value = run.subarray(start, end);
      try {
        light[name] = parseJson(value.toString());
      } catch (error) {
        // the scanner let it pass, so it is JSON but for its numbers
        const finite = atOnce(replaceNonFinite(value));
        if (!finite) throw error;
        nonFinite.push(name);
        light[name] = parseJson(finite.toString());
      }
    }
  };
  const end = yield* eachMember(run, 0, visit, { isLenient: true });
  expectEnd(run, end);
  return { light, payloads, tooLong, nonFinite, unknown };
}

const NULL = Buffer.from('null');

/** `error` is a JSON string on the wire and plain text in the store; anything else is kept as its JSON text. */
function* errorText(json: Buffer): JsonWalk<Buffer> {
  if (json[0] !== QUOTE) return json;
  const texts: Buffer[] = [];
  for (const piece of textPieces(json)) {
    if (texts.length > 0) yield undefined;
    texts.push(Buffer.from(storable(parseJson(`"${piece.toString()}"`) as string)));
  }
  return texts.length === 1 ? (texts[0] as Buffer) : Buffer.concat(texts);
}

interface Derived {
  readonly payloads: RunPayloads;
  readonly usage: RunChange['usage'];
  readonly threadId: string | undefined;
  readonly model: RunChange['model'];
  readonly provider: string | undefined;
  readonly metadata: Buffer | undefined;
  readonly firstTokenTime: Instant | undefined;
}

const NOT_FINITE = 'NaN and Infinity, which JSON has no words for, were replaced by null';

const UNREAD =
  'Tokens should be numbers from 0 to 9007199254740991, costs decimals from 0 to below 100000000, under names that are known';
const NOT_A_CALL =
  'Tokens and costs of a run that is no call are the sums of the calls below it: llm, embedding, and costs of tool and retriever';
const MAX_NAMED_CHARS = 500;

/** Facts that payloads contain. */
interface PayloadFacts {
  readonly ofOutputs?: RunChange['usage'];
  readonly ofExtra?: ExtraFacts;
  readonly firstTokenTime?: Instant | undefined;
}

/** Walks through a payload once, to validate it and to collect its facts. @throws JsonSyntaxError */
function* walk(field: PayloadField, json: Buffer, members: ModelMembers | undefined): JsonWalk<PayloadFacts> {
  switch (field) {
    case 'outputs':
      return { ofOutputs: yield* usageInOutputs(json) };
    case 'extra':
      return { ofExtra: yield* factsInExtra(json, members) };
    case 'events':
      return { firstTokenTime: yield* firstTokenTime(json) };
    case 'inputs':
    case 'error':
    case 'serialized':
      return (yield* validatePayload(json)) ?? {};
  }
}

/**
 * The payload as valid JSON, with its facts; undefined when nothing is left of it.
 * @throws JsonSyntaxError
 */
function* walked(
  reader: MemberReader,
  field: PayloadField,
  bytes: Buffer,
  members: ModelMembers | undefined,
): JsonWalk<{ readonly json: Buffer; readonly said: PayloadFacts } | undefined> {
  try {
    return { json: bytes, said: yield* walk(field, bytes, members) };
  } catch (error) {
    const json = error instanceof JsonSyntaxError ? yield* replaceNonFinite(bytes) : undefined;
    if (!json) throw error;
    const said = yield* walk(field, json, members);
    reader.note(field, NOT_FINITE, 'not_finite');
    return json.equals(NULL) ? undefined : { json, said };
  }
}

function* derive(reader: MemberReader, raw: Payloads, members?: ModelMembers): JsonWalk<Derived> {
  const payloads: { -readonly [K in keyof RunPayloads]: RunPayloads[K] } = {};
  let facts: PayloadFacts = {};
  for (const field of PAYLOAD_FIELDS) {
    const given = raw[field];
    if (given === undefined) continue;
    try {
      const bytes = trimmed(given);
      if (bytes.equals(NULL)) continue;
      if (!isUtf8(bytes)) throw new JsonSyntaxError('the text is not UTF-8', 0);
      const found = yield* walked(reader, field, bytes, members);
      if (found === undefined) continue;
      yield* repairSurrogates(found.json);
      payloads[field] = field === 'error' ? yield* errorText(found.json) : found.json;
      facts = { ...facts, ...found.said };
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      reader.refuse(field, error.message, 'json_invalid');
    }
  }
  const { ofOutputs, ofExtra } = facts;
  const explicit = usageOf(explicitUsage(reader.light));
  const usage = [ofOutputs, ofExtra?.usage, explicit].find((one) => one && hasFigures(one));
  for (const name of explicit?.unread ?? []) reader.note(name, UNREAD, 'usage_not_understood', 'dropped');
  const type = reader.light['run_type'];
  if (typeof type === 'string' && explicit && hasFigures(explicit) && !isSummedCall(type.toLowerCase()))
    reader.note(
      Object.keys(explicitUsage(reader.light))[0] ?? 'total_tokens',
      NOT_A_CALL,
      'not_a_call',
      'dropped',
    );
  const unread = { outputs: ofOutputs?.unread, extra: ofExtra?.usage?.unread };
  for (const [field, names] of Object.entries(unread))
    if (names)
      reader.note(
        field,
        `Not counted: ${names.join(', ').slice(0, MAX_NAMED_CHARS)}. ${UNREAD}`,
        'usage_not_understood',
        'dropped',
      );
  if (usage?.isClamped) {
    const field = ofOutputs ? 'outputs' : ofExtra?.usage ? 'extra' : 'total_tokens';
    reader.note(field, `A sum of tokens above ${MAX_TOKENS} was replaced by it`, 'tokens_too_many');
  }
  return {
    payloads,
    usage,
    threadId: ofExtra?.threadId,
    model: ofExtra?.model,
    provider: ofExtra?.provider,
    metadata: ofExtra?.metadata,
    firstTokenTime: facts.firstTokenTime,
  };
}

/** Clients that fill the columns themselves send 0, or an empty text, for "unknown". */
function explicitUsage(light: LightMembers): LightMembers {
  return Object.fromEntries(
    Object.entries(light).filter(
      ([name, value]) =>
        (name.endsWith('_tokens') && value !== 0) || (name.endsWith('_cost') && value !== ''),
    ),
  );
}

function projectOf(reader: MemberReader): ProjectReference | undefined {
  const id = reader.uuid('session_id');
  if (id !== undefined) return { kind: 'id', id };
  const name = reader.text('session_name', 512) ?? reader.text('project_name', 512);
  return name === undefined || name === '' ? undefined : { kind: 'name', name };
}

function dottedOrderOf(reader: MemberReader): DottedOrder | undefined {
  const text = reader.text('dotted_order', 100_000);
  if (text === undefined || text === '') return undefined;
  return (
    parseDottedOrder(text) ??
    reader.refuse(
      'dotted_order',
      'segments should be a time without separators, Z and a run id',
      'value_error',
    )
  );
}

/** The id of a run whose sender leaves it to the server. */
function idFor(
  reader: MemberReader,
  { newId }: RunOperation,
  order: DottedOrder | undefined,
): string | undefined {
  if (newId === undefined || (reader.light['id'] ?? undefined) !== undefined) return undefined;
  const id = order?.id ?? newId;
  reader.note('id', `The run came without an id; it was stored as ${id}`, 'missing');
  return id;
}

/** The ids that a dotted order spells must be the ids that the run states. */
function checkOrder(reader: MemberReader, id: string | undefined, order: DottedOrder | undefined): void {
  if (!order) return;
  const stated = { trace_id: reader.uuid('trace_id'), parent_run_id: reader.uuid('parent_run_id') };
  if (id !== undefined && order.id !== id)
    reader.refuse('dotted_order', 'the last segment should end with the id of the run', 'value_error');
  if (stated.trace_id !== undefined && stated.trace_id !== order.traceId)
    reader.refuse('dotted_order', 'the first segment should end with the trace id', 'value_error');
  if (stated.parent_run_id !== undefined && stated.parent_run_id !== order.parentRunId)
    reader.refuse(
      'dotted_order',
      'the last but one segment should end with the parent run id',
      'value_error',
    );
}

/** An operation that can be stored, with its repairs. */
interface Parsed {
  readonly change: RunChange;
  readonly notes: readonly MemberNote[];
}

/** One that cannot, with all its problems and the facts about its run. */
interface Unparsed extends Partial<Pick<RunChange, 'id' | 'project'>> {
  readonly problems: readonly FieldProblem[];
}

/**
 * Reads one operation of a batch; one that cannot be read, whatever the reason, is refused alone.
 * @param members that may name the model, beside `ls_model_name`
 */
export function* parseOperation(
  kind: 'post' | 'patch',
  operation: RunOperation,
  members?: ModelMembers,
): JsonWalk<Parsed | Unparsed> {
  try {
    return yield* read(kind, operation, members);
  } catch (error) {
    const msg = `The run could not be read: ${String(error)}; this is a fault of the server, please report it`;
    const problems = [{ loc: operation.place ?? [], msg, type: 'unreadable' }];
    return { problems, ...(isUuid(operation.id) ? { id: operation.id.toLowerCase() } : {}) };
  }
}

/** @throws whatever is wrong here and not with the operation */
function* read(
  kind: 'post' | 'patch',
  operation: RunOperation,
  members?: ModelMembers,
): JsonWalk<Parsed | Unparsed> {
  const { place = [] } = operation;
  let parts: SplitRun;
  try {
    parts = yield* split(operation);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const problems = [{ loc: place, msg: error.message, type: 'json_invalid' }];
    return { problems, ...(isUuid(operation.id) ? { id: operation.id.toLowerCase() } : {}) };
  }
  const reader = new MemberReader(place, parts.light);
  for (const name of parts.tooLong)
    reader.refuse(name, `Input should be at most ${MAX_LIGHT_BYTES} bytes long`, 'too_long');
  for (const name of parts.nonFinite) reader.note(name, NOT_FINITE, 'not_finite');
  for (const name of parts.unknown)
    reader.note(name, 'Unknown members are not stored', 'unknown_member', 'dropped');
  const dottedOrder = dottedOrderOf(reader);
  const id = operation.id?.toLowerCase() ?? reader.uuid('id') ?? idFor(reader, operation, dottedOrder);
  if (operation.id !== undefined && !isUuid(operation.id))
    reader.refuse('id', 'Input should be a valid UUID', 'uuid_parsing');
  else if (id === undefined && reader.problems.length === 0) reader.require('id');
  else if (operation.id !== undefined && (reader.uuid('id') ?? id) !== id)
    reader.refuse('id', 'differs from the id that the part is addressed to', 'value_error');

  if (kind === 'post') for (const name of ['name', 'run_type']) reader.require(name);
  checkOrder(reader, id, dottedOrder);
  const derived = yield* derive(reader, { ...parts.payloads, ...operation.fields }, members);
  const change = {
    kind,
    place,
    traceId: reader.uuid('trace_id') ?? dottedOrder?.traceId,
    parentRunId: reader.uuid('parent_run_id') ?? dottedOrder?.parentRunId,
    dottedOrder,
    project: projectOf(reader),
    startTime: reader.time('start_time') ?? (kind === 'post' ? dottedOrder?.startTime : undefined),
    ...sentValues(reader),
    ...derived,
  };
  if (reader.problems.length > 0 || id === undefined)
    return { problems: unique(reader.problems), id, project: change.project };
  return { change: { ...change, id }, notes: reader.notes };
}

/** A field that is read twice complains twice. */
function unique(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}
