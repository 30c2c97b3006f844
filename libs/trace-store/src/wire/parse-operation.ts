import { isUtf8 } from 'node:buffer';
import type { FieldProblem } from '#lib/errors';
import { isUuid } from '#lib/resources';
import type { Instant } from '#lib/time';
import { parseDottedOrder, type DottedOrder } from './dotted-order.js';
import {
  eachMember,
  expectEnd,
  JsonSyntaxError,
  MAX_JSON_DEPTH,
  skipSpace,
  validateJson,
} from './json-scanner.js';
import { repairSurrogates } from './repair-surrogates.js';
import type { ProjectReference } from '../project/project-reference.js';
import type { RunChange } from './run-change.js';
import { PAYLOAD_FIELDS, type PayloadField } from '../run/payload-field.js';
import type { RunOperation } from './run-operation.js';
import type { RunPayloads, RunStatus } from '../run/stored-run.js';
import { parseWireTime } from './wire-time.js';
import { cost, factsInExtra, firstTokenTime, usageInOutputs, usageOf } from './usage.js';

type Location = readonly (string | number)[];
type Light = Readonly<Record<string, unknown>>;
type Payloads = Partial<Record<PayloadField, Buffer>>;

const STATUSES: readonly string[] = [
  'pending',
  'success',
  'error',
  'interrupted',
] satisfies readonly RunStatus[];

/** Light members that are read; the others (child_runs, manifest ids, …) are not kept. */
const LIGHT = new Set([
  'id',
  'trace_id',
  'parent_run_id',
  'dotted_order',
  'session_id',
  'session_name',
  'project_name',
  'start_time',
  'end_time',
  'name',
  'run_type',
  'status',
  'tags',
  'reference_example_id',
  'trace_tier',
  'total_tokens',
  'prompt_tokens',
  'completion_tokens',
  'total_cost',
  'prompt_cost',
  'completion_cost',
]);

/** A parsed value takes many times the memory of its text. */
const MAX_LIGHT_BYTES = 1 << 20;
/** Tags are read and written whole whenever a run changes. */
const MAX_TAGS = 1000;
const MAX_TAG_CHARS = 65_536;
/** A payload is nested no deeper beside its run than it may be inside of it: waiting updates are stored in one piece. */
const MAX_PAYLOAD_DEPTH = MAX_JSON_DEPTH - 1;

/** Text that Postgres can hold: U+0000 and halves of surrogate pairs are made visible instead of losing the run. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

/** Collects what is wrong with one operation. */
class Reader {
  readonly problems: FieldProblem[] = [];

  constructor(
    readonly place: Location,
    readonly light: Light,
  ) {}

  refuse(name: string, msg: string, type: string): undefined {
    this.problems.push({ loc: [...this.place, name], msg, type });
    return undefined;
  }

  require(name: string): void {
    const isRefused = this.problems.some(({ loc }) => loc.at(-1) === name);
    if ((this.light[name] ?? undefined) === undefined && !isRefused)
      this.refuse(name, 'Field required', 'missing');
  }

  /** Undefined for missing and null. */
  text(name: string, maxLength: number): string | undefined {
    const value = this.light[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') return this.refuse(name, 'Input should be a valid string', 'string_type');
    if (value.length > maxLength)
      return this.refuse(name, `String should have at most ${maxLength} characters`, 'string_too_long');
    return storable(value);
  }

  uuid(name: string): string | undefined {
    const value = this.light[name];
    if (value === undefined || value === null) return undefined;
    if (!isUuid(value)) return this.refuse(name, 'Input should be a valid UUID', 'uuid_parsing');
    return value.toLowerCase();
  }

  time(name: string): Instant | undefined {
    const value = this.light[name];
    if (value === undefined || value === null) return undefined;
    return (
      parseWireTime(value) ??
      this.refuse(
        name,
        'Input should be an ISO 8601 time or milliseconds since 1970, in the years 1 to 9999',
        'datetime_parsing',
      )
    );
  }

  tags(): readonly string[] | undefined {
    const value = this.light['tags'];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value) || !value.every((tag) => typeof tag === 'string'))
      return this.refuse('tags', 'Input should be a list of strings', 'list_type');
    if (value.length > MAX_TAGS || value.reduce((sum, tag) => sum + tag.length, 0) > MAX_TAG_CHARS)
      return this.refuse(
        'tags',
        `List should have at most ${MAX_TAGS} items of together at most ${MAX_TAG_CHARS} characters`,
        'too_long',
      );
    return value.map(storable);
  }

  status(): RunStatus | undefined {
    const value = this.text('status', 100)?.toLowerCase();
    // words of other clients' own are not an error: status follows from end time and error then
    return value !== undefined && STATUSES.includes(value) ? (value as RunStatus) : undefined;
  }
}

/** Splits the run's object into small parsed members and payload bytes. @throws JsonSyntaxError */
function split(operation: RunOperation): { light: Light; payloads: Payloads; tooLong: readonly string[] } {
  const { run } = operation;
  const light: Record<string, unknown> = {};
  const payloads: Payloads = {};
  const tooLong: string[] = [];
  if (!isUtf8(run)) throw new JsonSyntaxError('the text is not UTF-8', 0);
  const end = eachMember(run, 0, (name, range) => {
    const payload = PAYLOAD_FIELDS.find((field) => field === name);
    if (payload) payloads[payload] = run.subarray(range.start, range.end);
    else if (LIGHT.has(name) && range.end - range.start > MAX_LIGHT_BYTES) tooLong.push(name);
    else if (LIGHT.has(name)) light[name] = JSON.parse(run.toString('utf8', range.start, range.end));
  });
  expectEnd(run, end);
  return { light, payloads, tooLong };
}

const NULL = Buffer.from('null');

/** Without the white space around the value. */
function trimmed(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] ?? 0) <= 0x20) end--;
  return bytes.subarray(skipSpace(bytes, 0), end);
}

/** `error` is a JSON string on the wire and plain text in the store; anything else is kept as its JSON text. */
function errorText(json: Buffer): Buffer {
  if (json[0] !== 0x22) return json;
  return Buffer.from(storable(JSON.parse(json.toString()) as string));
}

interface Derived {
  readonly payloads: RunPayloads;
  readonly usage: RunChange['usage'];
  readonly threadId: string | undefined;
  readonly firstTokenTime: Instant | undefined;
}

function payloadsOf(reader: Reader, raw: Payloads): RunPayloads {
  const payloads: { -readonly [K in keyof RunPayloads]: RunPayloads[K] } = {};
  for (const field of PAYLOAD_FIELDS) {
    const given = raw[field];
    if (given === undefined) continue;
    const bytes = trimmed(given);
    if (bytes.equals(NULL)) continue;
    try {
      if (!isUtf8(bytes)) throw new JsonSyntaxError('the text is not UTF-8', 0);
      validateJson(bytes, MAX_PAYLOAD_DEPTH);
      repairSurrogates(bytes);
      payloads[field] = field === 'error' ? errorText(bytes) : bytes;
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      reader.refuse(field, error.message, 'json_invalid');
    }
  }
  return payloads;
}

function derive(reader: Reader, raw: Payloads): Derived {
  const payloads = payloadsOf(reader, raw);
  const facts = payloads.extra ? factsInExtra(payloads.extra) : {};
  return {
    payloads,
    usage:
      (payloads.outputs && usageInOutputs(payloads.outputs)) ??
      facts.usage ??
      usageOf(explicitUsage(reader.light)),
    threadId: facts.threadId,
    firstTokenTime: payloads.events && firstTokenTime(payloads.events),
  };
}

/** Clients that fill the columns themselves send 0 for "unknown". */
function explicitUsage(light: Light): Light {
  return Object.fromEntries(
    Object.entries(light).filter(
      ([name, value]) =>
        (name.endsWith('_tokens') && value !== 0) || (name.endsWith('_cost') && cost(value) !== undefined),
    ),
  );
}

function projectOf(reader: Reader): ProjectReference | undefined {
  const id = reader.uuid('session_id');
  if (id !== undefined) return { kind: 'id', id };
  const name = reader.text('session_name', 512) ?? reader.text('project_name', 512);
  return name === undefined || name === '' ? undefined : { kind: 'name', name };
}

function dottedOrderOf(reader: Reader): DottedOrder | undefined {
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

/** The ids that a dotted order spells must be the ids that the run states. */
function checkOrder(reader: Reader, id: string | undefined, order: DottedOrder | undefined): void {
  if (!order) return;
  const stated = { trace_id: reader.uuid('trace_id'), parent_run_id: reader.uuid('parent_run_id') };
  if (id !== undefined && order.id !== id)
    reader.refuse('dotted_order', 'the last segment should end with the id of the run', 'value_error');
  if (stated.trace_id !== undefined && stated.trace_id !== order.traceId)
    reader.refuse('dotted_order', 'the first segment should end with the trace id', 'value_error');
  if (stated.parent_run_id !== undefined && stated.parent_run_id !== order.parentRunIds.at(-1))
    reader.refuse(
      'dotted_order',
      'the last but one segment should end with the parent run id',
      'value_error',
    );
}

/**
 * Reads one operation of a batch.
 * @returns the change, or every problem it has
 */
export function parseOperation(
  kind: 'post' | 'patch',
  operation: RunOperation,
): { readonly change: RunChange } | { readonly problems: readonly FieldProblem[] } {
  const { place = [] } = operation;
  let parts: ReturnType<typeof split>;
  try {
    parts = split(operation);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return { problems: [{ loc: place, msg: error.message, type: 'json_invalid' }] };
  }
  const reader = new Reader(place, parts.light);
  for (const name of parts.tooLong)
    reader.refuse(name, `Input should be at most ${MAX_LIGHT_BYTES} bytes long`, 'too_long');
  const id = operation.id?.toLowerCase() ?? reader.uuid('id');
  if (operation.id !== undefined && !isUuid(operation.id))
    reader.refuse('id', 'Input should be a valid UUID', 'uuid_parsing');
  else if (id === undefined && reader.problems.length === 0) reader.require('id');
  else if (operation.id !== undefined && (reader.uuid('id') ?? id) !== id)
    reader.refuse('id', 'differs from the id that the part is addressed to', 'value_error');

  if (kind === 'post') for (const name of ['name', 'run_type']) reader.require(name);
  const dottedOrder = dottedOrderOf(reader);
  checkOrder(reader, id, dottedOrder);
  const derived = derive(reader, { ...parts.payloads, ...operation.fields });
  const change = {
    kind,
    place,
    traceId: reader.uuid('trace_id') ?? dottedOrder?.traceId,
    parentRunId: reader.uuid('parent_run_id') ?? dottedOrder?.parentRunIds.at(-1),
    dottedOrder,
    project: projectOf(reader),
    startTime: reader.time('start_time') ?? (kind === 'post' ? dottedOrder?.startTime : undefined),
    endTime: reader.time('end_time'),
    name: reader.text('name', 10_000),
    runType: reader.text('run_type', 100)?.toLowerCase(),
    status: reader.status(),
    tags: reader.tags(),
    referenceExampleId: reader.uuid('reference_example_id'),
    traceTier: reader.text('trace_tier', 100),
    ...derived,
  };
  if (reader.problems.length > 0 || id === undefined) return { problems: unique(reader.problems) };
  return { change: { ...change, id } };
}

/** A field that is read twice complains twice. */
function unique(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}
