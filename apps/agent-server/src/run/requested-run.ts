import { z } from 'zod';
import { type FieldProblem, PublicError } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { documentSize, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_VALUES } from '../store/document-bytes.js';
import { STREAM_MODE_NAMES } from '../stream/stream-modes.js';

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
const configOfRun = runConfig.superRefine(({ configurable }, context) => {
  for (const { code, message, path } of checkpointShape.safeParse(configurable ?? {}).error?.issues ?? [])
    if (code === 'too_big') context.addIssue({ code: 'custom', message, path: ['configurable', ...path] });
});

/** The body of every request that makes a run. Unknown keys are ignored, as newer clients send them. */
export const requestedRun = z.object({
  assistant_id: z.string().min(1),
  input,
  command: command.nullish(),
  config: configOfRun.nullish(),
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
