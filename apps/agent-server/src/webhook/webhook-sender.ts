import { inheritedEnvironment, PLATFORM_VERSION } from '#lib/config';
import { errorText, TerminalError } from '#lib/errors';
import { webhookHeaders, type WebhookSettings, webhookVariables } from '#lib/graph-configuration';
import { inTurns, isJsonObject, type JsonWalk, membersOf, parseShort, valueAt } from '#lib/json';
import {
  type AddressGuard,
  postWebhook,
  signatureHeaders,
  signingSecretsOf,
  type WebhookAnswer,
  webhookGuard,
  webhookPauseMs,
} from '#lib/outbound';
import { REASON } from '#lib/resources';
import { type Logger, metrics } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { AuthUser } from '../authorization/auth-user.js';
import type { ServerConfig } from '../config.js';
import type { Database } from '../store/database.js';
import { withoutCaller } from '../store/row/run-row.js';
import type { Sql } from '../store/sql.js';
import { type DuePush, readPush } from '../store/statement/task-pushes.js';
import {
  claimWebhooks,
  type DueWebhook,
  OWN_HOST,
  readWebhook,
  settleWebhook,
  sweepWebhooks,
  type WebhookPlaces,
  type WebhookResult,
  type WebhookTexts,
} from '../store/statement/webhooks.js';
import { WORKER } from '../store/worker-scope.js';
import type { SecretWords } from '../wire/secret-words.js';
import { type OwnApp, postToOwnApp, isOwnPath, WebhookPolicy } from './webhook-policy.js';

/** Milliseconds between two looks without a notification. */
const POLL_MS = 5_000;

/** Looks between two sweeps of old results: an hour. */
const SWEEP_EVERY = 720;

/**
 * Calls at a time: of this process, and to one host, so that one that hangs does not delay calls of other
 * hosts.
 */
const PLACES = 16;
const PLACES_PER_HOST = 4;

/**
 * Limit among them for repetitions and hosts that are slow or not known yet, so that many that hang leave
 * places to the others.
 */
const SLOW_PLACES = 12;

/**
 * Limit among them for large calls: texts of up to 80 MB, each of which is held here as long as its call
 * lasts.
 */
const LARGE_PLACES = 2;

/** Limit among large calls for repetitions and hosts that are slow or not known yet. */
const LARGE_SLOW_PLACES = 1;

/** A host that answered its last call within this time is quick; any other gets one call at a time. */
const QUICK_MS = 2_000;

/** Quick hosts that are remembered. */
const MAX_QUICK_HOSTS = 1_000;

/** Time longer than a call takes: after it another server makes the call of one that died. */
const LEASE_MS = 15_000;

/** A call of a receiver of notifications about a task. */
export interface PushCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookSenderParts {
  readonly sql: Sql;
  readonly guard: AddressGuard;
  /** The agent's own HTTP app; undefined when it has none. */
  readonly app: OwnApp | undefined;
  /** True when this server makes the calls of the agent's own app; otherwise other servers have the app. */
  readonly callsApp: boolean;
  /** Renders a call about a task as it is now; undefined for a call that is not needed any more. */
  readonly renderPush: (push: DuePush) => Promise<PushCall | undefined>;
  readonly secrets: SecretWords;
  /** Headers of every call. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns true for members that the body has. */
  readonly sends: (field: string) => boolean;
  readonly signingSecrets: readonly string[];
  /** Time for retries after the end of the run. */
  readonly retryMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Calls the webhooks of runs that have ended, and receivers of notifications about tasks. Due calls are in the database since the statement that ended
 * the run; any server may take them, and takes them again when the one that had them died: a receiver may get
 * a call twice, with the same `webhook-id`, and misses none that was accepted within the time for retries.
 */
export class WebhookSender {
  readonly #byHost = new Map<string, number>();
  /** The one that was called longest ago first. */
  readonly #quickHosts = new Set<string>();
  #slowCalls = 0;
  #largeCalls = 0;
  #largeSlowCalls = 0;
  readonly #calls = new Set<Promise<void>>();
  #isClaiming = false;
  #shouldLookAgain = false;
  #isStopped = false;
  #looks = 0;
  #cancelPoll: (() => void) | undefined;

  constructor(private readonly parts: WebhookSenderParts) {}

  start(): void {
    const poll = (): void => {
      if (this.#looks++ % SWEEP_EVERY === 0)
        void sweepWebhooks(WORKER, this.parts.sql).catch(() => undefined); // the next hour does it
      this.wake();
      this.#cancelPoll = this.parts.clock.after(POLL_MS, poll);
    };
    poll();
  }

  /** Takes nothing more and waits for the calls in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelPoll?.();
    await Promise.allSettled([...this.#calls]);
  }

  /** A call may be due. */
  wake(): void {
    if (this.#isClaiming) this.#shouldLookAgain = true;
    else void this.#claim();
  }

  async #claim(): Promise<void> {
    this.#isClaiming = true;
    try {
      do {
        this.#shouldLookAgain = false;
        if (this.#isStopped || this.#calls.size >= PLACES) break;
        const due = await claimWebhooks(WORKER, this.parts.sql, this.#places());
        for (const webhook of due) this.#begin(webhook);
        if (due.length > 0) this.#shouldLookAgain = true;
      } while (this.#shouldLookAgain);
    } catch (error) {
      this.parts.log.warn({ error: errorText(error) }, 'looking for webhooks to call failed');
    } finally {
      this.#isClaiming = false;
    }
  }

  #places(): WebhookPlaces {
    const room = [...this.#byHost.values()].reduce(
      (least, calls) => Math.min(least, PLACES_PER_HOST - calls),
      PLACES_PER_HOST,
    );
    const isBusy = ([host, calls]: readonly [string, number]): boolean =>
      calls >= (this.#quickHosts.has(host) ? PLACES_PER_HOST : 1);
    return {
      limit: PLACES - this.#calls.size,
      slowLimit: Math.max(0, SLOW_PLACES - this.#slowCalls),
      largeLimit: LARGE_PLACES - this.#largeCalls,
      largeSlowLimit: LARGE_SLOW_PLACES - this.#largeSlowCalls,
      quickHosts: [...this.#quickHosts],
      perHost: Math.max(1, room),
      busyHosts: [
        ...[...this.#byHost].filter(isBusy).map(([host]) => host),
        ...(this.parts.callsApp ? [] : [OWN_HOST]),
      ],
      leaseMs: LEASE_MS,
    };
  }

  #begin(webhook: DueWebhook): void {
    const { host, attempt, isLarge } = webhook;
    const isSlow = attempt > 1 || !this.#quickHosts.has(host);
    if (isSlow) this.#slowCalls++;
    if (isLarge) this.#largeCalls++;
    if (isLarge && isSlow) this.#largeSlowCalls++;
    this.#byHost.set(host, (this.#byHost.get(host) ?? 0) + 1);
    const beganMs = this.parts.clock.monotonicMs();
    const call = this.#call(webhook).finally(() => {
      const left = (this.#byHost.get(host) ?? 1) - 1;
      if (left > 0) this.#byHost.set(host, left);
      else this.#byHost.delete(host);
      if (isSlow) this.#slowCalls--;
      if (isLarge) this.#largeCalls--;
      if (isLarge && isSlow) this.#largeSlowCalls--;
      this.#remember(host, this.parts.clock.monotonicMs() - beganMs <= QUICK_MS);
      this.#calls.delete(call);
      this.wake();
    });
    this.#calls.add(call);
  }

  #remember(host: string, isQuick: boolean): void {
    this.#quickHosts.delete(host);
    if (!isQuick) return;
    this.#quickHosts.add(host);
    const [longestAgo] = this.#quickHosts;
    if (this.#quickHosts.size > MAX_QUICK_HOSTS && longestAgo !== undefined)
      this.#quickHosts.delete(longestAgo);
  }

  async #call(webhook: DueWebhook): Promise<void> {
    const { sql, clock, log } = this.parts;
    const texts = await this.#read(webhook);
    if (!texts) return;
    const made = 'run' in texts ? this.#perform(webhook, texts) : this.#push(webhook, texts);
    const result = await made.catch((error: unknown): WebhookResult => {
      // a body that cannot be made; the end of the process would be that of all calls
      return {
        kind: 'failed',
        error: `making the call failed: ${this.parts.secrets.hide(errorText(error))}`,
      };
    });
    metrics.agentWebhookCalls.add(1, { outcome: result.kind });
    const { runId, host, attempt } = webhook;
    if (result.kind === 'failed')
      log.error({ run_id: runId, host, attempt, error: result.error }, 'webhook failed for good');
    if (result.kind === 'again') {
      log.warn({ run_id: runId, host, attempt, error: result.error }, 'webhook failed, trying again later');
      clock.after(result.pauseMs, () => this.wake());
    }
    await settleWebhook(WORKER, sql, webhook, result).catch((error: unknown) =>
      // its lease runs out, and it is called again
      log.warn({ run_id: runId, error: errorText(error) }, 'recording the call of a webhook failed'),
    );
  }

  /** Undefined when another server makes the call, at once or when the lease has run out. */
  #read(webhook: DueWebhook): Promise<WebhookTexts | DuePush | undefined> {
    const { sql, log } = this.parts;
    const read: Promise<WebhookTexts | DuePush | undefined> = webhook.isPush
      ? readPush(WORKER, sql, webhook)
      : readWebhook(WORKER, sql, webhook);
    return read.catch((error: unknown) => {
      log.warn({ run_id: webhook.runId, error: errorText(error) }, 'reading the body of a webhook failed');
      return undefined;
    });
  }

  async #perform(webhook: DueWebhook, texts: WebhookTexts): Promise<WebhookResult> {
    const { app, guard, clock } = this.parts;
    const sentAt = clock.now();
    const { body, caller } = await inTurns(told(texts, sentAt, this.parts.sends));
    const headers = this.#headersOf(webhook, sentAt, body, { 'content-type': 'application/json' });
    const { url } = webhook;
    const answer = isOwnPath(url)
      ? await postToOwnApp({ headers, body, path: url, caller: userOf(caller) }, app)
      : await postWebhook({ headers, body, url }, guard);
    return this.#resultOf(webhook, answer);
  }

  /** Calls a receiver of notifications about a task, at the address that it has now. */
  async #push(webhook: DueWebhook, push: DuePush): Promise<WebhookResult> {
    const { guard, clock, renderPush } = this.parts;
    try {
      const call = await renderPush(push);
      if (!call) return { kind: 'delivered' };
      const { url, body } = call;
      const headers = this.#headersOf(webhook, clock.now(), body, call.headers);
      return this.#resultOf(webhook, await postWebhook({ url, headers, body }, guard));
    } catch (error) {
      // the database may answer the next time
      return this.#resultOf(webhook, { kind: 'refused', why: errorText(error), isFinal: false });
    }
  }

  #headersOf(
    { runId: id }: DueWebhook,
    sentAt: Date,
    body: string,
    own: Readonly<Record<string, string>>,
  ): Record<string, string> {
    const { headers, signingSecrets } = this.parts;
    return {
      'user-agent': `agentplane/${PLATFORM_VERSION}`,
      ...headers,
      ...own,
      ...signatureHeaders({ id, sentAt, body }, signingSecrets),
    };
  }

  #resultOf({ attempt, ageMs }: DueWebhook, answer: WebhookAnswer): WebhookResult {
    if (answer.kind === 'accepted') return { kind: 'delivered' };
    const error = this.parts.secrets.hide(answer.why);
    const pauseMs = webhookPauseMs(attempt);
    const isOver = answer.isFinal || ageMs + pauseMs > this.parts.retryMs;
    return isOver ? { kind: 'failed', error } : { kind: 'again', pauseMs, error };
  }
}

/** Limit of a user, whose size is bounded, with the headers of its request. */
const MAX_CALLER_CHARS = 4 * 1024 * 1024;

/** Caller who requested the run; undefined without authentication. */
function userOf(callerText: string | undefined): AuthUser | undefined {
  const caller = parseShort(callerText ?? 'null', MAX_CALLER_CHARS);
  const user = isJsonObject(caller) ? caller['langgraph_auth_user'] : undefined;
  // the server's own: requests cannot set it
  return isJsonObject(user) ? (user as AuthUser) : undefined;
}

interface Told {
  /** Text that is sent. The receiver is no caller of the agent, and gets no data of one. */
  readonly body: string;
  /** JSON text. */
  readonly caller: string | undefined;
}

function* told(
  { run, values }: WebhookTexts,
  sentAt: Date,
  sends: (field: string) => boolean,
): JsonWalk<Told> {
  const members: string[] = [];
  let caller: string | undefined;
  for (const member of membersOf(run)) {
    if (!member) {
      yield undefined;
      continue;
    }
    const { name, start, end } = member;
    const isKwargs = name === 'kwargs';
    const found = isKwargs ? yield* valueAt(run, ['caller'], start) : undefined;
    caller ??= found && run.slice(found.start, found.end);
    if (!sends(name)) continue;
    const value = isKwargs ? yield* withoutCaller(run, start) : run.slice(start, end);
    members.push(`${JSON.stringify(name)}:${value}`);
  }
  if (sends('webhook_sent_at')) members.push(`"webhook_sent_at":${JSON.stringify(sentAt.toISOString())}`);
  if (sends('values')) members.push(`"values":${values ?? 'null'}`);
  return { body: `{${members.join(',')}}`, caller };
}

interface WebhookParts {
  readonly config: Pick<
    ServerConfig,
    'role' | 'webhookSecret' | 'webhookPrivateAddresses' | 'webhookRetrySeconds'
  >;
  readonly webhookSettings: WebhookSettings;
  /** True when the agent has an HTTP app, in this process or in that of a server beside it. */
  readonly hasApp: boolean;
  /** HTTP app of the agent, when this server has it. */
  readonly app: OwnApp | undefined;
  readonly renderPush: WebhookSenderParts['renderPush'];
  readonly database: Database;
  readonly secrets: SecretWords;
  readonly clock: Clock;
  readonly log: Logger;
}

/** @throws TerminalError `GraphLoadFailed` when a header names a variable that is not set */
function headersOf(settings: WebhookSettings): Record<string, string> {
  const names = webhookVariables(settings);
  const variables = inheritedEnvironment(names);
  const missing = names.filter((name) => variables[name] === undefined);
  if (missing.length > 0)
    throw new TerminalError(
      REASON.graphLoadFailed,
      `langgraph.json: "webhooks": headers name ${missing.join(', ')}, which is not set; set it for the deployment`,
    );
  return webhookHeaders(settings, variables);
}

/** Builds the policy that admits webhooks and the sender that calls them. */
export function buildWebhooks(parts: WebhookParts): {
  /** Addresses that users may make the deployment call. */
  readonly guard: AddressGuard;
  readonly policy: WebhookPolicy;
  readonly sender: WebhookSender;
} {
  const { config, webhookSettings: settings, hasApp, app, renderPush, database, secrets, clock, log } = parts;
  const guard = webhookGuard({
    allowPrivate: config.webhookPrivateAddresses && !settings.disablesPrivate,
    advice: 'set RUN_WEBHOOK_PRIVATE_ADDRESSES=true for the deployment to allow these',
  });
  const headers = headersOf(settings);
  if (Object.keys(headers).length > 0 && !settings.allowedDomains)
    log.warn('webhooks.headers go to every URL that a caller names; set webhooks.url.allowed_domains');
  return {
    guard,
    policy: new WebhookPolicy({ settings, guard, hasApp, clock }),
    sender: new WebhookSender({
      sql: database.sql,
      guard,
      secrets,
      clock,
      log,
      app,
      renderPush,
      callsApp: config.role !== 'queue',
      headers,
      sends: (field) => settings.allowedFields?.includes(field) ?? true,
      signingSecrets: signingSecretsOf(config.webhookSecret),
      retryMs: config.webhookRetrySeconds * 1000,
    }),
  };
}
