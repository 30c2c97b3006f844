import type { Client } from '@langchain/langgraph-sdk';
import { parseApiKey, renderAgentToken } from '#lib/auth';
import { fetchOf, type RestAccess, RestClient } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { readDeployment } from '../rollout/revisions.js';

export interface AgentFlags extends TargetFlags {
  readonly url: string | undefined;
}

/** An agent server, and the platform that has its traces. */
export interface Agent {
  readonly client: Client;
  /** Undefined for an agent that is named by its address. */
  readonly rest: RestClient | undefined;
  /** Words of the command line that name it. */
  readonly words: string;
}

/** Clocks of two machines may differ by as much. Ends are rounded to it, so that agents know a token that they were shown. */
const TOKEN_MS = 3_600_000;

/**
 * A `fetch` that shows an agent a token which opens that agent alone: its code can read what its server is sent, and a key
 * opens the whole workspace.
 * @param agent name of its deployment
 */
function callerOf(agent: string, access: RestAccess): ReturnType<typeof fetchOf> {
  const send = fetchOf(access);
  const parsed = parseApiKey(access.key ?? '');
  return (url, asked) => {
    const untilMs = Math.ceil(systemClock.now().getTime() / TOKEN_MS + 1) * TOKEN_MS;
    const credential = parsed ? renderAgentToken(parsed, { agent, untilMs }) : access.key;
    const headers = new Headers(asked.headers);
    if (credential !== undefined) headers.set('x-api-key', credential);
    return send(url, { ...asked, headers: Object.fromEntries(headers) });
  };
}

/** @throws CommandError for an agent that has no address yet, or is not named */
export async function openAgent(name: string | undefined, { url, ...flags }: AgentFlags): Promise<Agent> {
  // takes a moment to load
  const { Client: SdkClient } = await import('@langchain/langgraph-sdk');
  if (url !== undefined) {
    if (name !== undefined)
      throw new CommandError('usage', '--url and a name are two agents: give one of them');
    return { client: new SdkClient({ apiUrl: url, apiKey: null }), rest: undefined, words: `--url ${url}` };
  }
  if (name === undefined)
    throw new CommandError('usage', 'name a deployment, or give the address of an agent with --url');
  const access = resolveTarget(flags).rest;
  const rest = new RestClient(access);
  const deployment = await readDeployment(rest, name);
  if (deployment.url === null)
    throw new CommandError(
      'failed',
      `deployment ${name} has no address yet: "agentplane events ${name}" shows why`,
    );
  const callerOptions = { fetch: callerOf(deployment.name, access) };
  const client = new SdkClient({ apiUrl: deployment.url, apiKey: null, callerOptions });
  return { client, rest, words: deployment.name };
}

/** The graph or assistant to talk with; by default the agent's first. @throws CommandError for an agent without one */
export async function assistantOf({ client }: Agent, graph: string | undefined): Promise<string> {
  if (graph !== undefined) return graph;
  const [first] = await client.assistants.search({ limit: 1, sortBy: 'created_at', sortOrder: 'asc' });
  if (first) return first.assistant_id;
  throw new CommandError('failed', 'the agent has no graphs: its langgraph.json names none');
}
