import { PublicError } from '#lib/errors';
import type { WireAssistant } from '../store/row/assistant-row.js';
import { runConfig, type RequestedRun } from './requested-run.js';

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
