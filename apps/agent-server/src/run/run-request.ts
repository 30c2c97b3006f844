import { z } from 'zod';
import { STREAM_MODE_NAMES, type StreamMode } from '../stream/stream-modes.js';
import { checkpointShape, parseBody, record, text, unsupported } from './request-shapes.js';

const nodes = z.union([z.literal('*'), z.array(z.string())]);
const modes = z.preprocess(
  (given) => (typeof given === 'string' ? [given] : given),
  z.array(z.enum(STREAM_MODE_NAMES)),
);

/** Ten years; no timer and no row needs to look further. */
const LONGEST_DELAY_SECONDS = 315_360_000;

const command = z.object({
  update: z.unknown().optional(),
  resume: z.unknown().optional(),
  goto: z.unknown().optional(),
});

const config = z.looseObject({
  tags: z.array(z.string()).nullish(),
  recursion_limit: z.int().min(1).max(10_000).nullish(),
  run_name: z.string().nullish(),
  configurable: record.nullish(),
  metadata: record.nullish(),
});

/** The body of every request that makes a run. Unknown keys are ignored, as newer clients send them. */
const runRequest = z.object({
  assistant_id: z.string().min(1),
  input: z.unknown().optional(),
  command: command.nullish(),
  config: config.nullish(),
  context: record.nullish(),
  metadata: record.nullish(),
  stream_mode: modes.nullish(),
  stream_subgraphs: z.boolean().nullish(),
  interrupt_before: nodes.nullish(),
  interrupt_after: nodes.nullish(),
  checkpoint: checkpointShape.nullish(),
  checkpoint_id: text.nullish(),
  multitask_strategy: z.enum(['enqueue', 'reject', 'interrupt', 'rollback']).nullish(),
  on_completion: z.enum(['delete', 'keep']).nullish(),
  on_disconnect: z.enum(['cancel', 'continue']).nullish(),
  after_seconds: z.number().min(0).max(LONGEST_DELAY_SECONDS).nullish(),
  if_not_exists: z.enum(['create', 'reject']).nullish(),
  durability: z.enum(['sync', 'async', 'exit']).nullish(),
  webhook: unsupported,
});

export type RunRequest = z.infer<typeof runRequest>;

/** What a run needs when it is executed; kept as JSON in its row. */
export interface RunKwargs {
  readonly input?: unknown;
  readonly command?: RunRequest['command'];
  readonly config?: RunRequest['config'];
  readonly context?: RunRequest['context'];
  readonly stream_mode: readonly StreamMode[];
  readonly subgraphs: boolean;
  readonly interrupt_before?: RunRequest['interrupt_before'];
  readonly interrupt_after?: RunRequest['interrupt_after'];
  readonly checkpoint?: RunRequest['checkpoint'];
  readonly durability?: RunRequest['durability'];
  /** Added to `configurable` by the server: headers and the caller. */
  readonly caller: Readonly<Record<string, unknown>>;
}

/** @throws PublicError `invalid` */
export function parseRunRequest(body: unknown): RunRequest {
  return parseBody(runRequest, body);
}

/** The checkpoint to begin from, in whichever of three places it stands. */
function checkpointOf({ checkpoint, checkpoint_id, config }: RunRequest): RunKwargs['checkpoint'] {
  if (checkpoint_id) return { ...checkpoint, checkpoint_id };
  if (checkpoint?.checkpoint_id) return checkpoint;
  const configured = checkpointShape.safeParse(config?.configurable ?? {});
  return configured.data?.checkpoint_id ? configured.data : undefined;
}

/** The part of a request that goes into the run's row. */
export function kwargsOf(request: RunRequest, caller: RunKwargs['caller']): RunKwargs {
  const modes = request.stream_mode ?? [];
  return {
    input: request.input,
    command: request.command,
    config: request.config,
    context: request.context,
    stream_mode: modes.length > 0 ? modes : ['values'],
    subgraphs: request.stream_subgraphs ?? false,
    interrupt_before: request.interrupt_before,
    interrupt_after: request.interrupt_after,
    checkpoint: checkpointOf(request),
    durability: request.durability,
    caller,
  };
}
