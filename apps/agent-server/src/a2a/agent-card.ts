import type { JsonObject } from '#lib/json';
import type { Agent } from './agents.js';
import { type CardSecurity, hybridSecurity, security10 } from './card-security.js';

export interface CardOptions {
  /** Address of the server for clients, without a slash at the end. */
  readonly baseUrl: string;
  /** Undefined when the authentication of callers is not known. */
  readonly security: CardSecurity | undefined;
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
    ...security10(options.security),
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
    ...hybridSecurity(options.security),
  };
}
