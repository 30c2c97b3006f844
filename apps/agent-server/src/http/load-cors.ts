import { errorText, TerminalError } from '#lib/errors';
import type { CorsSettings } from '#lib/graph-configuration';
import { REASON } from '#lib/resources';
import { corsPolicyOf, type CorsPolicy } from './cors.js';

/**
 * The policy of a server. Patterns are matched in linear time: any client may send an origin, and one that a
 * backtracking engine takes seconds for would stop every stream.
 * @throws TerminalError (`GraphLoadFailed`) for a pattern that cannot be used
 */
export async function loadCors(
  origins: readonly string[],
  agent: CorsSettings | undefined,
): Promise<CorsPolicy> {
  if (agent?.originPattern === undefined) return corsPolicyOf(origins, agent);
  const { RE2JS } = await import('re2js');
  try {
    const pattern = RE2JS.compile(agent.originPattern);
    return corsPolicyOf(origins, agent, (origin) => pattern.matches(origin));
  } catch (error) {
    throw new TerminalError(
      REASON.graphLoadFailed,
      `langgraph.json: "http": cors.allow_origin_regex cannot be used: ${errorText(error)}; look-around and back-references are not supported`,
    );
  }
}
