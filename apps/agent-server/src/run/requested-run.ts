import { z } from 'zod';
import { isJsonObject } from '#lib/json';
import { STREAM_MODE_NAMES } from '../stream/stream-modes.js';
import {
  checkpointShape,
  document,
  identifier,
  MAX_NAMES,
  parseBody,
  record,
  text,
  unsupported,
} from './request-shapes.js';

const nodes = z.union([z.literal('*'), z.array(z.string()).max(MAX_NAMES)]);
const modes = z.preprocess(
  (given) => (typeof given === 'string' ? [given] : given),
  z.array(z.enum(STREAM_MODE_NAMES)).max(MAX_NAMES),
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
  feedback_keys: z.union([unsupported, z.array(z.unknown()).max(0, 'is not supported by this server yet')]),
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
