import { randomFillSync } from 'node:crypto';
import { z } from 'zod';
import { type FieldProblem, PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject } from '#lib/json';
import { documentSize, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_VALUES } from '../store/json-text.js';
import { STREAM_MODE_NAMES } from '../stream/stream-modes.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import type { StoredRun } from '../store/row/run-row.js';

const UUID_BYTES = 16;

/** Random bytes are drawn for many ids at once: a call for the few bytes of one takes longer than all the rest. */
const pool = Buffer.allocUnsafeSlow(256 * UUID_BYTES);
let taken = pool.length;

/** A uuid that sorts by its time of making (version 7), as the tracing SDK wants run ids. */
export function uuid7(now: Date): string {
  if (taken === pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  const bytes = pool.subarray(taken, (taken += UUID_BYTES));
  bytes.writeUIntBE(now.getTime(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Text that may go into the database as it is. */
export const text = z.string().regex(/^[^\u0000]*$/, 'must not hold a NUL character');

/**
 * JSON object, kept unchanged: `z.record` makes a copy without a member `__proto__`, which payloads may have.
 */
const record = z.custom<Record<string, unknown>>(isJsonObject, 'must be a JSON object');

/** An object that is stored to be searched: every read of its row reads it whole. */
export const document = record.superRefine((given, context) => {
  const { bytes, values } = documentSize(given);
  if (bytes > MAX_DOCUMENT_BYTES)
    context.addIssue({ code: 'custom', message: `must not be larger than ${MAX_DOCUMENT_BYTES} bytes` });
  else if (values > MAX_DOCUMENT_VALUES)
    context.addIssue({ code: 'custom', message: `must not hold more than ${MAX_DOCUMENT_VALUES} values` });
});

/** A node or a checkpoint: errors repeat it, and hosts ask for it in heads of frames. */
export const identifier = text.max(1_000);

/** Keys of feedback of one run: the platform makes no more tokens for it. */
const MAX_FEEDBACK_KEYS = 100;

/** Names of subgraphs and ids of their tasks, one for each level. */
const checkpointNamespace = text.max(10_000);

/** Checkpoint of a thread. Other members are dropped: it must not choose the thread and the caller. */
export const checkpointShape = z.object({
  checkpoint_id: identifier.nullish(),
  checkpoint_ns: checkpointNamespace.nullish(),
  checkpoint_map: record.nullish(),
});

/** Entries of a list that names displays, tags or streams. */
export const MAX_NAMES = 1_000;

/**
 * A shape whose size is checked before its items are, as zod does only for `max` of a list: a body holds
 * millions of invalid ones, and each would be a separate problem.
 * @param problemOf problem of the size; undefined for none, and for values of another type
 */
export function sizedFirst<T extends z.ZodType>(shape: T, problemOf: (given: unknown) => string | undefined) {
  const requireSize = (given: unknown, context: z.RefinementCtx): unknown => {
    const message = problemOf(given);
    if (message === undefined) return given;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  return z.preprocess(requireSize, shape);
}

/** A field of the wire that the server cannot honour: accepting it would be a lie. */
export const unsupported = z
  .unknown()
  .refine((value) => value === undefined || value === null, 'is not supported by this server yet')
  .optional();

/** Limit per answer. */
const MAX_PROBLEMS = 100;

function problems({ issues }: z.ZodError, place: string): FieldProblem[] {
  const shown = issues.slice(0, MAX_PROBLEMS).map((issue) => ({
    loc: [place, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))],
    msg: issue.message,
    type: issue.code,
  }));
  const left = issues.length - shown.length;
  if (left > 0) shown.push({ loc: [place], msg: `${left} more problems are not shown`, type: 'custom' });
  return shown;
}

/** Parses a request against a shape. @throws PublicError `invalid` naming the wrong fields */
export function parseInput<T>(shape: z.ZodType<T>, given: unknown, place: 'body' | 'query'): T {
  const parsed = shape.safeParse(given ?? {});
  if (!parsed.success)
    throw new PublicError('invalid', `the ${place} is not valid`, problems(parsed.error, place));
  return parsed.data;
}

/** @throws PublicError `invalid` */
export function parseBody<T>(shape: z.ZodType<T>, body: unknown): T {
  return parseInput(shape, body, 'body');
}

const nodes = z.union([z.literal('*'), z.array(z.string()).max(MAX_NAMES)]);
const modes = z.preprocess(
  (given) => (typeof given === 'string' ? [given] : given),
  z.array(z.enum(STREAM_MODE_NAMES)).max(MAX_NAMES),
);

const feedbackKeys = z.preprocess(
  (given) => (typeof given === 'string' ? [given] : given),
  z.array(text.min(1).max(180)).max(MAX_FEEDBACK_KEYS),
);

/** Ten years; no timer and no row needs to look further. */
const LONGEST_DELAY_SECONDS = 315_360_000;

/** Answer to an interrupted graph, or an update written in place of values. */
export const command = z.object({
  update: z.unknown().optional(),
  resume: z.unknown().optional(),
  goto: z.unknown().optional(),
});

/** LangGraph takes such an input for a command, which handlers of the agent would not find as `command`. */
const input = z
  .unknown()
  .refine(
    (given) => !isJsonObject(given) || given['lg_name'] !== 'Command',
    'must not be a Command (lg_name); send its fields as command',
  )
  .optional();

/** Configuration of a graph's call, as runs and assistants give it. */
export const runConfig = z.looseObject({
  tags: z.array(z.string()).max(MAX_NAMES).nullish(),
  recursion_limit: z.int().min(1).nullish(),
  run_name: z.string().nullish(),
  configurable: record.nullish(),
  metadata: document.nullish(),
});

/** It may name the checkpoint to begin from, too: one that is too long would be dropped silently. */
const requestedConfig = runConfig.superRefine(({ configurable }, context) => {
  for (const { code, message, path } of checkpointShape.safeParse(configurable ?? {}).error?.issues ?? [])
    if (code === 'too_big') context.addIssue({ code: 'custom', message, path: ['configurable', ...path] });
});

/** The body of every request that makes a run. Unknown keys are ignored, as newer clients send them. */
export const requestedRun = z.object({
  assistant_id: z.string().min(1),
  input,
  command: command.nullish(),
  config: requestedConfig.nullish(),
  context: record.nullish(),
  metadata: document.nullish(),
  stream_mode: modes.nullish(),
  stream_subgraphs: z.boolean().nullish(),
  stream_resumable: z.boolean().nullish(),
  interrupt_before: nodes.nullish(),
  interrupt_after: nodes.nullish(),
  checkpoint: checkpointShape.nullish(),
  checkpoint_id: identifier.nullish(),
  multitask_strategy: z.enum(['enqueue', 'reject', 'interrupt', 'rollback']).nullish(),
  on_completion: z.enum(['delete', 'keep']).nullish(),
  on_disconnect: z.enum(['cancel', 'continue']).nullish(),
  after_seconds: z.number().min(0).max(LONGEST_DELAY_SECONDS).nullish(),
  if_not_exists: z.enum(['create', 'reject']).nullish(),
  durability: z.enum(['sync', 'async', 'exit']).nullish(),
  /** Option of older clients: `async` or, when false, `exit`. */
  checkpoint_during: z.boolean().nullish(),
  webhook: text.nullish(),
  feedback_keys: feedbackKeys.nullish(),
});

/** A run as a request asks for it, checked. */
export type RequestedRun = z.infer<typeof requestedRun>;

const requestedOwnRun = requestedRun.extend({
  thread_id: z
    .unknown()
    .refine((given) => (given ?? null) === null, 'is part of the path: POST /threads/THREAD_ID/runs')
    .optional(),
});

/** A run without a thread; a `thread_id` in its body would be left out in silence. @throws PublicError `invalid` */
export function parseOwnRun(body: unknown): RequestedRun {
  return parseBody(requestedOwnRun, body);
}

/** @throws PublicError `invalid` */
export function parseRequestedRun(body: unknown): RequestedRun {
  return parseBody(requestedRun, body);
}

type Config = NonNullable<RequestedRun['config']>;

/** Configuration that an assistant gives its runs; invalid parts, in rows of older servers, are left out. */
function ownConfig({ config }: WireAssistant): Config {
  for (const given of [config, { configurable: config['configurable'] }]) {
    const parsed = runConfig.safeParse(given);
    if (parsed.success) return parsed.data;
  }
  return {};
}

/**
 * The configuration of a run: its own over its assistant's, name by name; `configurable` and `metadata` are merged.
 * @param maxRecursionLimit of the deployment
 * @throws PublicError `invalid` for a `recursion_limit` above it
 */
export function configOfRun(
  { config }: Pick<RequestedRun, 'config'>,
  assistant: WireAssistant,
  maxRecursionLimit: number,
): Config {
  const own = ownConfig(assistant);
  const limit = config?.recursion_limit ?? own.recursion_limit;
  requireDepth(limit, maxRecursionLimit);
  const [tags, runName] = [config?.tags ?? own.tags, config?.run_name ?? own.run_name];
  const configurable = { ...own.configurable, ...config?.configurable };
  const metadata = { ...own.metadata, ...config?.metadata };
  return {
    ...config,
    ...(tags ? { tags } : {}),
    ...(limit ? { recursion_limit: limit } : {}),
    ...(runName ? { run_name: runName } : {}),
    ...(Object.keys(configurable).length > 0 ? { configurable } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
  };
}

/** @throws PublicError `invalid` */
export function requireDepth(asked: number | null | undefined, most: number): void {
  if ((asked ?? 1) <= most) return;
  const msg = `must not be above ${most}; MAX_RECURSION_LIMIT of the deployment sets that`;
  const problem = { loc: ['body', 'config', 'recursion_limit'], msg, type: 'too_big' };
  throw new PublicError('invalid', `recursion_limit ${msg}`, [problem]);
}

type Kwargs = StoredRun['kwargs'];

/** Fields that the server adds to a request. */
export interface Submitter {
  readonly assistant: WireAssistant;
  /** Merged with that of the assistant. */
  readonly config: NonNullable<Kwargs['config']>;
  /** Headers and the caller, as graphs see them in `configurable`. */
  readonly caller: JsonObject;
  /** Admitted. */
  readonly webhook: string | undefined;
  /** The request reads the output. */
  readonly isStreamed: boolean;
  /** Set for runs whose readers read the thread. */
  readonly protocol?: Kwargs['protocol'];
}

/** The checkpoint to begin from, in any of its three places. */
function checkpointOf({ checkpoint, checkpoint_id, config }: RequestedRun): Kwargs['checkpoint'] {
  if (checkpoint_id) return { ...checkpoint, checkpoint_id };
  if (checkpoint?.checkpoint_id) return checkpoint;
  const configured = checkpointShape.safeParse(config?.configurable ?? {});
  return configured.data?.checkpoint_id ? configured.data : undefined;
}

function contextOf({ context }: RequestedRun, assistant: WireAssistant): Kwargs['context'] {
  return Object.keys(assistant.context).length === 0 ? context : { ...assistant.context, ...context };
}

/** The part of a run that its attempts need: the request over the assistant's configuration. */
export function kwargsOf(
  request: RequestedRun,
  { assistant, config, caller, webhook, isStreamed, protocol }: Submitter,
): Kwargs {
  const modes = request.stream_mode ?? [];
  return {
    input: request.input,
    command: request.command,
    ...(request.config || Object.keys(config).length > 0 ? { config } : {}),
    context: contextOf(request, assistant),
    stream_mode: modes.length > 0 ? modes : ['values'],
    subgraphs: request.stream_subgraphs ?? false,
    ...(isStreamed ? { streamed: true } : {}),
    resumable: request.stream_resumable ?? false,
    ...(protocol === undefined ? {} : { protocol }),
    interrupt_before: request.interrupt_before,
    interrupt_after: request.interrupt_after,
    checkpoint: checkpointOf(request),
    durability: request.durability ?? formerDurability(request.checkpoint_during),
    ...(request.feedback_keys?.length ? { feedback_keys: request.feedback_keys } : {}),
    ...(webhook === undefined ? {} : { webhook }),
    caller,
  };
}

/** Durability that LangGraph derives from the former option. */
function formerDurability(checkpointDuring: boolean | null | undefined): 'async' | 'exit' | undefined {
  if (typeof checkpointDuring !== 'boolean') return undefined;
  return checkpointDuring ? 'async' : 'exit';
}
