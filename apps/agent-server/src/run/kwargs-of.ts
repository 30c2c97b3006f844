import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import type { WireAssistant } from '../store/row/assistant-row.js';
import type { StoredRun } from '../store/row/stored-run.js';
import { checkpointShape, type RequestedRun, runConfig } from './requested-run.js';

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
