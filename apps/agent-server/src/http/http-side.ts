import type { FastifyInstance } from 'fastify';
import { errorText } from '#lib/errors';
import { claimAddress } from '#lib/held-sockets';
import type { RunLoad } from '#lib/lifecycle';
import type { HttpSettings, OpenapiSecurity } from '#lib/graph-configuration';
import { type Logger, recordCuts } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { cardSecurityOf } from '../a2a/agent-card.js';
import type { DescribedGraphs } from '../graph/graph-schemas.js';
import type { Readiness } from '../start/await-database.js';
import type { AppFront } from '../app-front/app-front.js';
import type { Authorization } from '../authorization/authorization.js';
import { A2aRoutes, type A2aRouteParts } from './a2a-routes.js';
import { AgUiRoutes, type AgUiRouteParts } from './ag-ui-routes.js';
import { registerAssistantRoutes, type AssistantRouteParts } from './assistant-routes.js';
import type { KeyVerifier } from './authentication.js';
import { headerChooser, isUsualHeader } from './caller-fields.js';
import type { CorsPolicy } from './cors.js';
import { registerChatRoutes } from './chat-routes.js';
import { registerDescription } from './description/description-routes.js';
import { registerCronRoutes, type CronRouteParts } from './cron-routes.js';
import { buildHttpServer } from './http-server.js';
import { McpRoutes } from './mcp-routes.js';
import { type Activity, OpenReplies } from './open-replies.js';
import { RunRoutes, type RunRouteParts } from './run-routes.js';
import { registerStoreRoutes, type StoreRouteParts } from './store-routes.js';
import { registerUiRoutes, type UiRouteParts } from './ui-routes.js';
import { registerThreadRoutes, type ThreadRouteParts } from './thread-routes.js';
import { ThreadStreamRoutes, type ThreadStreamParts } from './thread-stream-routes.js';
import type { IdleDesk } from './probe-route.js';
import { UnsentOutput } from './unsent-output.js';

/** Milliseconds that answers get to be read to their end. */
const CLOSE_GRACE_MS = 5_000;

/** Interval between checks whether a client still waits. */
const SETTLE_LOOK_MS = 20;

/**
 * Factor between the limits of unsent output: above the higher one, clients that read are disconnected too.
 */
const HARD_FACTOR = 4;

/** Interval between checks which clients read, while too much is unsent. */
const LOOK_MS = 500;

export interface HttpSideParts
  extends
    Omit<RunRouteParts, 'unsent'>,
    Omit<ThreadStreamParts, 'unsent' | 'state'>,
    ThreadRouteParts,
    AssistantRouteParts,
    CronRouteParts,
    StoreRouteParts,
    Pick<UiRouteParts, 'ui'> {
  readonly a2a: Pick<
    A2aRouteParts,
    'agents' | 'tasks' | 'pushes' | 'publicUrl' | 'serviceUrl' | 'trustsForwarded'
  >;
  readonly agUi: Pick<AgUiRouteParts, 'contexts' | 'requireHosts'>;
  /** The HTTP app of the agent; undefined when it has none. */
  readonly app: AppFront | undefined;
  /** Process that runs handlers of the agent; undefined when they do not run apart. */
  readonly handlers: { readonly note: string | undefined } | undefined;
  /** Undefined without Redis. */
  readonly redis: { readonly note: string | undefined } | undefined;
  /** True when the server only takes runs. */
  readonly isQueue: boolean;
  readonly loads: { read(): Promise<RunLoad> };
  readonly activity: Activity;
  /** Answers whether the server is idle; undefined when no client may ask. */
  readonly idle: IdleDesk | undefined;
  readonly database: { ask(): Promise<void> };
  /** Settings of the agent for its routes. */
  readonly settings: HttpSettings;
  /** Version that the server reports. */
  readonly version: string;
  /** Undefined: authentication is off. */
  readonly verifier: KeyVerifier | undefined;
  /** Handlers of the agent; undefined when it has none. */
  readonly authorization: Authorization | undefined;
  /** Login of the agent's users, as the agent describes it. */
  readonly security: OpenapiSecurity | undefined;
  /** True when a studio may call beside the agent's own users. */
  readonly admitsStudio: boolean;
  /** Policy for pages that may read answers. */
  readonly cors: CorsPolicy;
  /** Body of `GET /info`. */
  readonly info: () => unknown;
  readonly readiness: Readiness;
  readonly hosts: AssistantRouteParts['hosts'] &
    DescribedGraphs & {
      readonly note: string | undefined;
      readonly failing: string | undefined;
      readonly idleEnds: number;
    };
  /** Bytes that may wait for clients that do not read. */
  readonly unreadBytes: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The HTTP server with its routes. It stops in two steps: first readiness, then, once the runs have ended, the rest. */
export class HttpSide {
  /** Every route, as `METHOD /path/:parameter`. */
  readonly routes: string[] = [];
  readonly #app: FastifyInstance;
  readonly #routes: RunRoutes;
  readonly #a2a: A2aRoutes;
  readonly #mcp: McpRoutes;
  readonly #agUi: AgUiRoutes;
  readonly #threadStreams: ThreadStreamRoutes;
  readonly #replies = new OpenReplies();
  readonly #unsent: UnsentOutput;
  readonly #clock: Clock;
  readonly #readiness: Readiness;

  constructor(parts: HttpSideParts) {
    const { verifier, authorization, admitsStudio, settings, info, readiness, unreadBytes, clock, log } =
      parts;
    this.#readiness = readiness;
    this.#clock = clock;
    this.#unsent = new UnsentOutput({
      clock,
      limits: { softBytes: unreadBytes, hardBytes: HARD_FACTOR * unreadBytes, lookMs: LOOK_MS },
      onCut: recordCuts(log, 'agent'),
    });
    this.#app = buildHttpServer({
      verifier,
      authorization,
      admitsStudio,
      trustsForwarded: parts.a2a.trustsForwarded,
      replies: this.#replies,
      activity: parts.activity,
      idle: parts.idle,
      unsent: this.#unsent,
      cors: parts.cors,
      disabled: settings.disabled,
      mountPrefix: settings.mountPrefix,
      passesHeader: headerChooser(settings.configurableHeaders, isUsualHeader),
      ...(settings.loggedHeaders.includes
        ? { logsHeader: headerChooser(settings.loggedHeaders, () => false) }
        : {}),
      readiness,
      isQueue: parts.isQueue,
      load: () => parts.loads.read(),
      // queues are behind no Service
      showsLoad: parts.isQueue,
      info,
      app: parts.app,
      failing: () => parts.hosts.failing,
      hostEnds: () => parts.hosts.idleEnds,
      askDatabase: () => parts.database.ask(),
      note: () => parts.hosts.note ?? parts.handlers?.note ?? parts.app?.note ?? parts.redis?.note,
      clock,
      log,
      onRoute: (name) => this.routes.push(name),
    });
    this.#routes = new RunRoutes({ ...parts, unsent: this.#unsent });
    this.#routes.register(this.#app);
    this.#threadStreams = new ThreadStreamRoutes({ ...parts, unsent: this.#unsent });
    this.#threadStreams.register(this.#app);
    registerThreadRoutes(this.#app, parts);
    registerAssistantRoutes(this.#app, parts);
    registerCronRoutes(this.#app, parts);
    registerStoreRoutes(this.#app, parts);
    const { a2a } = parts;
    registerUiRoutes(this.#app, { ...parts, ...a2a, mountPrefix: settings.mountPrefix });
    const cardSecurity = cardSecurityOf({
      hasVerifier: verifier !== undefined,
      hasHandler: authorization?.authenticates === true,
      described: parts.security,
    });
    this.#a2a = new A2aRoutes({
      ...parts,
      ...a2a,
      unsent: this.#unsent,
      mountPrefix: settings.mountPrefix,
      cardSecurity,
    });
    this.#a2a.register(this.#app);
    this.#mcp = new McpRoutes({ ...parts, unsent: this.#unsent });
    this.#mcp.register(this.#app);
    this.#agUi = new AgUiRoutes({ ...parts, ...parts.agUi, agents: a2a.agents, unsent: this.#unsent });
    this.#agUi.register(this.#app);
    const isGuarded = verifier !== undefined || authorization !== undefined;
    registerChatRoutes(this.#app, { isGuarded, mountPrefix: settings.mountPrefix, clock });
    const { security } = parts;
    registerDescription(this.#app, () => ({ names: this.routes, prefix: settings.mountPrefix, security }));
  }

  /** Bytes that clients have not read yet. */
  get unsentBytes(): number {
    return this.#unsent.bytes;
  }

  /** Starts listening; answers the port. */
  async listen(host: string, port: number): Promise<number> {
    try {
      await this.#app.listen(claimAddress({ host, port }));
    } catch (error) {
      throw new Error(`cannot listen on ${host}:${port}: ${errorText(error)}`, { cause: error });
    }
    const address = this.#app.server.address();
    return typeof address === 'object' && address ? address.port : port;
  }

  /** Readiness is withdrawn; requests are still answered, each as the last of its connection. */
  drain(): void {
    this.#readiness.drain();
    this.#replies.endConnections();
  }

  /**
   * Lets clients that wait for runs get their results, which may come from another server in a moment, and
   * takes no request after it: its answer would be cut off.
   */
  async settle(longestMs: number): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + longestMs;
    while (this.#isAwaited && this.#clock.monotonicMs() < untilMs) await this.#clock.sleep(SETTLE_LOOK_MS);
    this.#readiness.close();
  }

  get #isAwaited(): boolean {
    const waited = [this.#routes, this.#a2a, this.#mcp];
    return this.#replies.hasUnanswered || waited.some(({ isAwaited }) => isAwaited);
  }

  /** Cuts off clients that wait for runs which end elsewhere, lets finished answers be read, and closes. */
  async close(): Promise<void> {
    this.#routes.stop();
    this.#a2a.stop();
    this.#mcp.stop();
    this.#agUi.stop();
    this.#threadStreams.stop();
    await this.#replies.arrived(this.#clock, CLOSE_GRACE_MS);
    await this.#app.close();
  }
}
