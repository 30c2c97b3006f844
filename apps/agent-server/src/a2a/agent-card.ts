import type { OpenapiSecurity } from '#lib/graph-configuration';
import { isJsonObject, type JsonObject } from '#lib/json';
import type { Agent } from './agents.js';

/** Authentication of callers, in the words of OpenAPI, which are those of A2A 0.3. */
export interface CardSecurity {
  readonly schemes: Readonly<Record<string, JsonObject>>;
  /** Alternatives. */
  readonly requirements: readonly JsonObject[];
}

const PLATFORM_KEY: CardSecurity = {
  schemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
  requirements: [{ apiKey: [] }],
};

/** Flows of OAuth in the order in which 1.0, which has one alone, takes them. */
const FLOWS = ['authorizationCode', 'deviceCode', 'clientCredentials', 'implicit', 'password'];

function picked(from: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const found = Object.entries(names).filter(([name]) => from[name] !== undefined);
  return Object.fromEntries(found.map(([name, as]) => [as, from[name]]));
}

const same = (...names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, name]));

const FLOW_MEMBERS = same(
  ...['authorizationUrl', 'deviceAuthorizationUrl', 'tokenUrl', 'refreshUrl', 'scopes', 'pkceRequired'],
);

function flowsOf({ flows }: JsonObject): JsonObject {
  const given = isJsonObject(flows) ? flows : {};
  const name = FLOWS.find((flow) => isJsonObject(given[flow]));
  const flow = name === undefined ? undefined : given[name];
  return name !== undefined && isJsonObject(flow) ? { [name]: picked(flow, FLOW_MEMBERS) } : {};
}

/** Types of OpenAPI in the words of 1.0, whose readers refuse unknown ones. */
const TYPES: Readonly<Record<string, (scheme: JsonObject) => JsonObject>> = {
  apiKey: (scheme) => ({
    apiKeySecurityScheme: picked(scheme, { ...same('description', 'name'), in: 'location' }),
  }),
  http: (scheme) => ({
    httpAuthSecurityScheme: picked(scheme, same('description', 'scheme', 'bearerFormat')),
  }),
  oauth2: (scheme) => ({
    oauth2SecurityScheme: {
      ...picked(scheme, same('description', 'oauth2MetadataUrl')),
      flows: flowsOf(scheme),
    },
  }),
  openIdConnect: (scheme) => ({
    openIdConnectSecurityScheme: picked(scheme, same('description', 'openIdConnectUrl')),
  }),
  mutualTLS: (scheme) => ({ mtlsSecurityScheme: picked(scheme, same('description')) }),
};

const typeOf = ({ type }: JsonObject): string => String(type);

/** Requirements of the route of the agent, in place of the general ones. */
function requirementsOf({ security, paths }: OpenapiSecurity): readonly JsonObject[] {
  const methods = paths['/a2a/{assistant_id}'];
  return methods?.['post'] ?? methods?.['POST'] ?? security;
}

export interface Authenticates {
  /** Keys of the platform are required. */
  readonly hasVerifier: boolean;
  /** A handler of the agent authenticates callers, and keys open nothing. */
  readonly hasHandler: boolean;
  /** Login of its users, when the agent describes it. */
  readonly described: OpenapiSecurity | undefined;
}

/**
 * Authentication in the cards of a server; undefined when none is needed or the agent does not describe it.
 */
export function cardSecurityOf(by: Authenticates): CardSecurity | undefined {
  if (!by.hasHandler) return by.hasVerifier ? PLATFORM_KEY : undefined;
  if (!by.described) return undefined;
  const given = Object.entries(by.described.securitySchemes);
  const schemes = Object.fromEntries(
    given.filter((pair): pair is [string, JsonObject] => {
      const [, scheme] = pair;
      return isJsonObject(scheme) && Object.hasOwn(TYPES, typeOf(scheme));
    }),
  );
  const requirements = requirementsOf(by.described).filter((alternative) =>
    Object.keys(alternative).every((name) => Object.hasOwn(schemes, name)),
  );
  return Object.keys(schemes).length === 0 ? undefined : { schemes, requirements };
}

function inWordsOf10({ schemes }: CardSecurity): [string, JsonObject][] {
  return Object.entries(schemes).map(([name, scheme]) => [name, TYPES[typeOf(scheme)]?.(scheme) ?? {}]);
}

function requirementsOf10({ requirements }: CardSecurity): JsonObject[] {
  return requirements.map((alternative) => ({
    schemes: Object.fromEntries(Object.entries(alternative).map(([name, list]) => [name, { list }])),
  }));
}

/** Members of a card of 1.0. */
export function security10(security: CardSecurity | undefined): JsonObject {
  if (!security) return {};
  const schemes = inWordsOf10(security);
  return { securitySchemes: Object.fromEntries(schemes), securityRequirements: requirementsOf10(security) };
}

/** Members of a card for both versions: readers of one pass over the words of the other. */
export function hybridSecurity(security: CardSecurity | undefined): JsonObject {
  if (!security) return {};
  const both = inWordsOf10(security).map(([name, words]) => [name, { ...security.schemes[name], ...words }]);
  return {
    securitySchemes: Object.fromEntries(both),
    security: security.requirements,
    securityRequirements: requirementsOf10(security),
  };
}

export interface CardOptions {
  /** Address of the server for clients, without a slash at the end. */
  readonly baseUrl: string;
  /** Undefined when the authentication of callers is not known. */
  readonly security: CardSecurity | undefined;
  /** Receivers of notifications about tasks may be named. */
  readonly hasPushes: boolean;
}

const INPUT_MODES = ['text/plain', 'application/json', 'application/octet-stream', 'image/png', 'image/jpeg'];
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
    capabilities: { streaming: true, pushNotifications: options.hasPushes, extendedAgentCard: true },
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
      pushNotifications: options.hasPushes,
      stateTransitionHistory: false,
      extendedAgentCard: true,
    },
    supportsAuthenticatedExtendedCard: true,
    ...hybridSecurity(options.security),
  };
}

/** Names the extension of the extended card that describes members of data parts. */
const INPUT_SCHEMA_URI = 'urn:agentplane:a2a:input-schema';

/** The card with what only clients of the agent need: the input of its graph, which data parts fill. */
export function extended(card: JsonObject, { inputSchema }: Agent): JsonObject {
  const { capabilities } = card;
  const description = 'JSON Schema of the input of the graph; members of data parts are members of it';
  const schema = { uri: INPUT_SCHEMA_URI, description, required: false, params: { inputSchema } };
  const known = isJsonObject(capabilities) ? capabilities : {};
  return { ...card, capabilities: { ...known, ...(inputSchema ? { extensions: [schema] } : {}) } };
}
