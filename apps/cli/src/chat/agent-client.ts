import type { Client } from '@langchain/langgraph-sdk';
import { fetchOf, RestClient } from '#lib/rest-client';
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
  const send = fetchOf(access);
  const callerOptions = access.caFile === undefined ? {} : { callerOptions: { fetch: send } };
  const client = new SdkClient({ apiUrl: deployment.url, apiKey: access.key, ...callerOptions });
  return { client, rest, words: deployment.name };
}

/** The graph or assistant to talk with; by default the agent's first. @throws CommandError for an agent without one */
export async function assistantOf({ client }: Agent, graph: string | undefined): Promise<string> {
  if (graph !== undefined) return graph;
  const [first] = await client.assistants.search({ limit: 1, sortBy: 'created_at', sortOrder: 'asc' });
  if (first) return first.assistant_id;
  throw new CommandError('failed', 'the agent has no graphs: its langgraph.json names none');
}
