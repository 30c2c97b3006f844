import { z } from 'zod';
import { createServer } from 'node:http';
import { errorText, TerminalError } from '#lib/errors';
import { isJsonObject, parseShort } from '#lib/json';
import { REASON } from '#lib/resources';
import { adoptEnvironment, inheritedEnvironment } from '#lib/config';
import { encryptionRefusal } from '#lib/graph-configuration';
import { claimAddress } from '#lib/held-sockets';
import { formatNotReady } from '#lib/lifecycle';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { signingSecretsOf } from '#lib/outbound';
import type { GraphDefault } from '../assistant/assistants.js';
import { document, runConfig } from '../run/requested-run.js';
import type { AppFront } from '../app-front/app-front.js';
import type { Authorization } from '../authorization/authorization.js';
import type { HandlerProcess } from '../authorization/handler-process.js';
import type { ServerConfig } from '../config.js';
import { redisSecrets } from '../log/redis-channel.js';
import { type GraphFolder, readGraphFolder } from '../graph/graph-folder.js';
import { type SpareHost, nodeHost, pythonHost } from '../hosting/child.js';
import { GraphHosts } from '../hosting/graph-hosts.js';
import type { StateKeeper } from '../hosting/state-keeper.js';
import type { LoadOrder } from '../protocol/messages.js';
import type { UiAssets } from '../ui/ui-assets.js';
import { SecretWords } from '../wire/secret-words.js';
import type { ParentReports } from './parent-reports.js';

/** Variable with the defaults of graphs: JSON of `{GRAPH: {configurable, tags, recursion_limit, …, context}}`. */
const GRAPH_DEFAULTS = 'LANGGRAPH_CONFIG';

/** Longest text of the variable; no system gives a process a longer one. */
const MAX_CHARS = 128 * 1024;

const shape = document.pipe(runConfig.extend({ context: document.optional() }));

function failed(message: string): TerminalError {
  return new TerminalError(REASON.graphLoadFailed, `${GRAPH_DEFAULTS}: ${message}`);
}

function parseDefault(graphId: string, given: unknown): GraphDefault {
  const parsed = shape.safeParse(given);
  if (!parsed.success)
    throw failed(`graph "${graphId}": ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`);
  const { context = {}, ...config } = parsed.data;
  return { config, context };
}

/**
 * @param text of the variable; undefined: no graph has defaults
 * @throws TerminalError `GraphLoadFailed` for what is no such JSON, or names a graph that the agent does not have
 */
function parseGraphDefaults(
  text: string | undefined,
  graphIds: ReadonlySet<string>,
): ReadonlyMap<string, GraphDefault> {
  if (text === undefined || text === '') return new Map();
  let given: unknown;
  try {
    given = parseShort(text, MAX_CHARS);
  } catch (error) {
    throw failed(`it is not JSON: ${errorText(error)}`);
  }
  if (!isJsonObject(given)) throw failed('it must be an object with graphs as names');
  const unknown = Object.keys(given).filter((graphId) => !graphIds.has(graphId));
  if (unknown.length > 0) throw failed(`the agent has no graph ${unknown.join(', ')}`);
  return new Map(Object.entries(given).map(([graphId, one]) => [graphId, parseDefault(graphId, one)]));
}

/**
 * Answers every request with 503 and the progress of the start, until the routes can answer: graphs are code
 * of others, and one that hangs while it loads must not keep the server from reporting it.
 * @param detail asked at each request
 * @returns closes the server and its connections, and leaves the port to the routes
 */
async function openLoadingDoor(
  { host, port }: { readonly host: string; readonly port: number },
  detail: () => string,
): Promise<() => Promise<void>> {
  if (port === 0) return async () => undefined; // no client could find it
  const server = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(formatNotReady({ detail: detail() })));
  });
  server.on('connection', (socket) => socket.unref()); // no reason for the process to wait
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(claimAddress({ host, port }), resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}

export interface AgentLoadingOptions {
  readonly config: ServerConfig;
  /** Folder with `langgraph.json`. */
  readonly folder: string;
  readonly reports: ParentReports;
  readonly clock: Clock;
  readonly log: Logger;
  /** Loaded before the agent was known. */
  readonly spareHost: SpareHost | undefined;
}

/** An agent that is being loaded, with the settings that it gets later. */
export interface AgentLoading {
  /** Resolves once the processes of the graphs were started; earlier imports delay them. */
  readonly begun: Promise<void>;
  readonly agent: Promise<LoadedAgent>;
  readonly ownUrl: PromiseWithResolvers<string>;
  readonly keeper: PromiseWithResolvers<StateKeeper>;
}

/** Parts that an agent's folder brings, while its graphs still load. */
export interface LoadedAgent {
  readonly agent: GraphFolder;
  readonly graphs: ReadonlySet<string>;
  readonly defaults: ReadonlyMap<string, GraphDefault>;
  readonly hosts: GraphHosts;
  readonly app: AppFront | undefined;
  readonly handlers: HandlerProcess | undefined;
  readonly ui: UiAssets;
  readonly authorization: Authorization | undefined;
  /** Resolves once graphs and app are loaded; rejects with `GraphLoadFailed`, and their processes have ended then. */
  readonly ready: Promise<void>;
  /** Progress of the load; empty when nothing loads. */
  readonly describeLoad: () => string;
}

/**
 * Begins to load the agent. Imports little, so that the processes of the graphs are started before the
 * modules of the server are loaded, and load beside them.
 * @throws TerminalError `Unprotected` when the settings do not say who may call
 */
export function beginLoading(options: AgentLoadingOptions): AgentLoading {
  const { auth, authUrl, tenantId } = options.config;
  if (auth !== 'off' && (authUrl === '' || tenantId === ''))
    throw new TerminalError(
      REASON.unprotected,
      'authentication: AGENTPLANE_AUTH_URL or AGENTPLANE_TENANT_ID is not set; set both, or AGENTPLANE_AUTH=off to accept every request',
    );
  const ownUrl = Promise.withResolvers<string>();
  const keeper = Promise.withResolvers<StateKeeper>();
  const begun = Promise.withResolvers<void>();
  const agent = loadAgent(options, {
    ownUrl: ownUrl.promise,
    keeper: keeper.promise,
    onBegun: begun.resolve,
  });
  agent.catch(() => begun.resolve()); // its callers handle the rejection
  return { begun: begun.promise, agent, ownUrl, keeper };
}

interface Later {
  readonly ownUrl: Promise<string>;
  readonly keeper: Promise<StateKeeper>;
  readonly onBegun: () => void;
}

async function loadAgent(
  options: AgentLoadingOptions,
  { ownUrl, keeper, onBegun }: Later,
): Promise<LoadedAgent> {
  const { config, folder, reports, clock, log, spareHost } = options;
  const agent = await readGraphFolder(folder);
  for (const note of agent.notes) log.warn({ note }, 'setting of the agent has no effect');
  // settings of the deployment come first
  adoptEnvironment({ ...agent.variables, ...inheritedEnvironment(Object.keys(agent.variables)) });
  const refusal = encryptionRefusal(inheritedEnvironment(['LANGGRAPH_AES_KEY', 'LANGGRAPH_AES_LEGACY_KEY']));
  if (refusal !== undefined) throw new TerminalError(REASON.graphLoadFailed, refusal);
  const graphs = new Set(agent.graphs.map(({ graphId }) => graphId));
  const defaults = parseGraphDefaults(inheritedEnvironment([GRAPH_DEFAULTS])[GRAPH_DEFAULTS], graphs);
  const order: LoadOrder = {
    folder: agent.folder,
    graphs: agent.graphs,
    postgresUri: config.postgresUri,
    poolSize: hostPool(config),
    logLevel: config.logLevel,
    secrets: secretWords(config),
    store: agent.store,
    priority: agent.priority,
    maxTextBytes: config.eventMegabytes * 2 ** 20,
    modules: agent.modules,
    importFolders: [],
  };
  const hosts = new GraphHosts({
    order,
    program: agent.python
      ? pythonHost(agent.folder, agent.python, config.python)
      : nodeHost(agent.variables, spareHost),
    keeper,
    reports,
    ownUrl,
    // without runs they only answer questions about graphs and states
    count: config.role === 'api' ? 1 : config.graphHosts,
    hasSpare: config.spareGraphHosts > 0,
    maxRuns: config.concurrency,
    clock,
    log,
  });
  // one that no graphs of JavaScript have taken
  spareHost?.take()?.child.kill('SIGKILL');
  onBegun();
  const app = config.role === 'queue' ? undefined : await openApp(agent, order, options, ownUrl);
  const handlers = await openHandlers(agent, order, options, ownUrl);
  const stop = async (error: unknown): Promise<never> => {
    await Promise.all([hosts.stop(), app?.stop(), handlers?.stop()]);
    throw error;
  };
  const ready = Promise.all([hosts.load(), app?.load()]).then(() => undefined, stop);
  ready.catch(() => undefined); // the server waits for it once it listens
  const describeLoad = (): string =>
    [hosts, app, handlers]
      .map((one) => one?.describeLoad())
      .filter((one) => one !== undefined)
      .join('; ');
  let authorization: Authorization | undefined;
  let ui: UiAssets;
  // code of others runs in this process: one that hangs must not keep it from reporting that
  const runsHere = agent.auth !== undefined || agent.ui.entries.length > 0;
  const close = runsHere ? await openLoadingDoor(config, describeLoad) : async () => undefined;
  try {
    const { auth } = agent;
    if (auth) {
      const { loadAuthorization } = await import('../authorization/load-authorization.js');
      authorization = await loadAuthorization(agent.folder, auth, handlers, { clock, log, reports });
    }
    const uiFolder = agent.http.disabled.has('ui') ? { ...agent, ui: { entries: [], shared: [] } } : agent;
    const onSources = (files: readonly string[]): void => reports.sources(files);
    const { UiAssets } = await import('../ui/ui-assets.js');
    // not before the handlers, which are compiled in this process as well
    ui = await UiAssets.load(uiFolder, onSources);
  } catch (error) {
    return await stop(error);
  } finally {
    await close();
  }
  return { agent, graphs, defaults, hosts, app, handlers, ui, authorization, ready, describeLoad };
}

/** Opens the process for handlers in Python; undefined for an agent without. */
async function openHandlers(
  { auth, folder, python }: GraphFolder,
  order: LoadOrder,
  { config, reports, clock, log }: AgentLoadingOptions,
  ownUrl: Promise<string>,
): Promise<HandlerProcess | undefined> {
  if (!auth || !python) return undefined;
  const { file, exportName } = auth;
  const { HandlerProcess } = await import('../authorization/handler-process.js');
  return new HandlerProcess({
    order: { ...order, graphs: [], module: { setting: 'auth.path', file, exportName } },
    program: pythonHost(folder, python, config.python, 'auth'),
    reports,
    ownUrl,
    clock,
    log,
  });
}

async function openApp(
  { folder, python, http: { app: settings } }: GraphFolder,
  order: LoadOrder,
  { config, reports, clock, log }: AgentLoadingOptions,
  ownUrl: Promise<string>,
): Promise<AppFront | undefined> {
  if (settings === undefined) return undefined;
  if (!settings.authenticatesRoutes)
    log.info({ setting: 'http.enable_custom_route_auth' }, 'routes of the HTTP app ask for no key');
  const { file, exportName } = settings;
  const shared = { reports, ownUrl, clock, log };
  const [{ AppFront }, { NodeApp }, { PythonApp }] = await Promise.all([
    import('../app-front/app-front.js'),
    import('../app-front/node-app.js'),
    import('../app-front/python-app.js'),
  ]);
  const make = python
    ? () =>
        new PythonApp({
          order,
          module: { setting: 'http.app', file, exportName },
          program: pythonHost(folder, python, config.python, 'app'),
          ...shared,
        })
    : () => new NodeApp({ order: { folder, file, exportName, logLevel: config.logLevel }, ...shared });
  return new AppFront({ make, settings, limits: { answerMs: config.appAnswerMs }, clock, log });
}

/**
 * Database connections of each graph host: together with the server's own they use the limit of the settings.
 */
export function hostPool({ poolSize, graphHosts }: ServerConfig): number {
  return Math.max(2, Math.floor(poolSize / 2 / graphHosts));
}

function secretWords(config: ServerConfig): string[] {
  const { postgresUri, platformKey, redisUri } = config;
  const redis = redisUri === undefined ? [] : redisSecrets(redisUri);
  const words = [postgresUri, platformKey, ...redis, ...signingSecretsOf(config.webhookSecret)];
  return words.filter((word) => word !== undefined);
}

/** Words that must not appear in any text that leaves the server. */
export function secretsOf(config: ServerConfig): SecretWords {
  return new SecretWords(secretWords(config));
}
