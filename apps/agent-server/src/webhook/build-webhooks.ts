import { inheritedEnvironment } from '#lib/config';
import { TerminalError } from '#lib/errors';
import { webhookHeaders, webhookVariables, type WebhookSettings } from '#lib/graph-configuration';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { signingSecretsOf, webhookGuard } from '#lib/webhook';
import type { ServerConfig } from '../config.js';
import type { Database } from '../store/database.js';
import type { SecretWords } from '../wire/secret-words.js';
import type { OwnApp } from './post-to-own-app.js';
import { WebhookPolicy } from './webhook-policy.js';
import { WebhookSender } from './webhook-sender.js';

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
  readonly policy: WebhookPolicy;
  readonly sender: WebhookSender;
} {
  const { config, webhookSettings: settings, hasApp, app, database, secrets, clock, log } = parts;
  const guard = webhookGuard({
    allowPrivate: config.webhookPrivateAddresses,
    advice: 'set RUN_WEBHOOK_PRIVATE_ADDRESSES=true for the deployment to allow these',
  });
  const headers = headersOf(settings);
  if (Object.keys(headers).length > 0 && !settings.allowedDomains)
    log.warn('webhooks.headers go to every URL that a caller names; set webhooks.url.allowed_domains');
  return {
    policy: new WebhookPolicy({ settings, guard, hasApp, clock }),
    sender: new WebhookSender({
      sql: database.sql,
      guard,
      secrets,
      clock,
      log,
      app,
      callsApp: config.role !== 'queue',
      headers,
      signingSecrets: signingSecretsOf(config.webhookSecret),
      retryMs: config.webhookRetrySeconds * 1000,
    }),
  };
}
