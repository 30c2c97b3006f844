import type { JsonObject } from '#lib/json';
import type { Agent } from './agents.js';

export interface CardOptions {
  /** Where the server is called, without a slash at the end. */
  readonly baseUrl: string;
  /** Callers need an API key in `x-api-key`. */
  readonly needsKey: boolean;
}

const INPUT_MODES = ['text/plain', 'application/json'];
const OUTPUT_MODES = ['text/plain', 'application/json'];

function skillsOf({ assistant, description }: Agent): readonly JsonObject[] {
  const { name, graph_id: graphId } = assistant;
  return [{ id: graphId, name, description, tags: [...new Set([graphId, 'langgraph'])] }];
}

function commonOf(agent: Agent): JsonObject {
  const { name, version } = agent.assistant;
  return {
    name,
    description: agent.description,
    version: String(version),
    defaultInputModes: INPUT_MODES,
    defaultOutputModes: OUTPUT_MODES,
    skills: skillsOf(agent),
  };
}

function urlOf({ assistant }: Agent, { baseUrl }: CardOptions): string {
  return `${baseUrl}/a2a/${encodeURIComponent(assistant.assistant_id)}`;
}

/** The key as both versions say it; readers of one pass over the words of the other. */
const KEY_03 = { type: 'apiKey', in: 'header', name: 'x-api-key' };
const KEY_10 = { apiKeySecurityScheme: { location: 'header', name: 'x-api-key' } };
const REQUIRES_KEY_10 = [{ schemes: { apiKey: { list: [] } } }];

/** The card for clients of 1.0, which refuse members that they do not know. */
export function buildCard10(agent: Agent, options: CardOptions): JsonObject {
  const url = urlOf(agent, options);
  return {
    ...commonOf(agent),
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    ...(options.needsKey
      ? { securitySchemes: { apiKey: KEY_10 }, securityRequirements: REQUIRES_KEY_10 }
      : {}),
  };
}

/** The card that clients of 0.3 and of 1.0 both can use: the members of both. */
export function buildHybridCard(agent: Agent, options: CardOptions): JsonObject {
  const card = buildCard10(agent, options);
  return {
    ...card,
    protocolVersion: '0.3.0',
    url: urlOf(agent, options),
    preferredTransport: 'JSONRPC',
    capabilities: {
      streaming: true,
      pushNotifications: false,
      stateTransitionHistory: false,
      extendedAgentCard: false,
    },
    supportsAuthenticatedExtendedCard: false,
    ...(options.needsKey
      ? { securitySchemes: { apiKey: { ...KEY_03, ...KEY_10 } }, security: [{ apiKey: [] }] }
      : {}),
  };
}
