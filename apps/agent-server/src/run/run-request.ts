import { z } from 'zod';
import { PublicError, type FieldProblem } from '#lib/errors';

/** Stream modes of the wire. */
export const STREAM_MODES = [
  'values',
  'updates',
  'messages',
  'messages-tuple',
  'custom',
  'events',
  'debug',
  'tasks',
  'checkpoints',
] as const;

export type StreamMode = (typeof STREAM_MODES)[number];

const record = z.record(z.string(), z.unknown());
const nodes = z.union([z.literal('*'), z.array(z.string())]);
const mode = z.enum(STREAM_MODES);

const checkpoint = z.looseObject({
  checkpoint_id: z.string().nullish(),
  checkpoint_ns: z.string().nullish(),
  checkpoint_map: record.nullish(),
});

const command = z.looseObject({
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
  stream_mode: z.union([mode, z.array(mode)]).nullish(),
  stream_subgraphs: z.boolean().nullish(),
  interrupt_before: nodes.nullish(),
  interrupt_after: nodes.nullish(),
  checkpoint: checkpoint.nullish(),
  checkpoint_id: z.string().nullish(),
  multitask_strategy: z.enum(['enqueue', 'reject', 'interrupt', 'rollback']).nullish(),
  on_completion: z.enum(['delete', 'keep']).nullish(),
  on_disconnect: z.enum(['cancel', 'continue']).nullish(),
  after_seconds: z.number().min(0).nullish(),
  if_not_exists: z.enum(['create', 'reject']).nullish(),
  durability: z.enum(['sync', 'async', 'exit']).nullish(),
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

function problems(error: z.ZodError): FieldProblem[] {
  return error.issues.map((issue) => ({
    loc: ['body', ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))],
    msg: issue.message,
    type: issue.code,
  }));
}

/**
 * Parses a body against a shape.
 * @throws PublicError `invalid` naming every wrong field
 */
export function parseBody<T>(shape: z.ZodType<T>, body: unknown): T {
  const parsed = shape.safeParse(body ?? {});
  if (!parsed.success) throw new PublicError('invalid', 'the body is not valid', problems(parsed.error));
  return parsed.data;
}

/** @throws PublicError `invalid` */
export function parseRunRequest(body: unknown): RunRequest {
  return parseBody(runRequest, body);
}

/** The part of a request that goes into the run's row. */
export function kwargsOf(request: RunRequest, caller: RunKwargs['caller']): RunKwargs {
  const { stream_mode: asked } = request;
  const modes = asked === null || asked === undefined ? ['values' as const] : [asked].flat();
  const id = request.checkpoint_id ?? request.checkpoint?.checkpoint_id;
  return {
    input: request.input,
    command: request.command,
    config: request.config,
    context: request.context,
    stream_mode: modes.length > 0 ? modes : ['values'],
    subgraphs: request.stream_subgraphs ?? false,
    interrupt_before: request.interrupt_before,
    interrupt_after: request.interrupt_after,
    checkpoint: id ? { ...request.checkpoint, checkpoint_id: id } : undefined,
    durability: request.durability,
    caller,
  };
}
