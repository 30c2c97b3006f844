import { z } from 'zod';
import { PublicError, type FieldProblem } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { documentSize, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_VALUES } from '../store/document-bytes.js';

/** Text that may go into the database as it is. */
export const text = z.string().regex(/^[^\u0000]*$/, 'must not hold a NUL character');

/**
 * JSON object, kept unchanged: `z.record` makes a copy without a member `__proto__`, which payloads may have.
 */
export const record = z.custom<Record<string, unknown>>(isJsonObject, 'must be a JSON object');

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
