import { randomBytes, randomUUID } from 'node:crypto';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { isAlreadyExists, type KubeClient } from '#lib/kube';
import {
  formatGitIntegration,
  GIT_INTEGRATIONS,
  type GitIntegration,
  parseGitIntegration,
} from '#lib/manifests';
import { LABEL, MANAGED_BY, type Secret, SECRET_TYPE, SECRETS } from '#lib/resources';
import type { Workspaces } from '../tenancy/workspaces.js';
import type { SourceConfigRequest } from './deployment-request.js';
import { IntegrationAnswer, IntegrationWebhookAnswer } from './integration-answer.js';
import { Body, Inject } from '@nestjs/common';
import type { ApiConfig } from '../config.js';
import { API_CONFIG } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { AskedOrigin, originOf } from '../wire/origin-of.js';
import { PathId } from '../wire/query-flag.js';
import { Get, Post, Put, Delete } from '../wire/route.js';
import { WORKSPACE } from '../wire/route-access.js';
import { Text } from '../wire/fields.js';

/** Body of `POST /v1/integrations/git_host`. */
class CreateIntegrationRequest {
  @Text({ required: true, minLength: 1, maxLength: 128, isUnicode: true, about: 'For people' })
  name: string;

  @Text({
    required: true,
    minLength: 1,
    maxLength: 253,
    pattern: /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/,
    patternText: 'String should be a host name, with a port where it is not 443',
    about: 'Of the repositories, as in their URLs; the only host that gets the token',
  })
  host: string;

  @Text({
    required: true,
    minLength: 1,
    maxLength: 4096,
    pattern: /^[\x21-\x7e]+$/,
    patternText: 'String should have visible characters of ASCII only',
    about: 'May read the repositories; it is never shown again',
  })
  token: string;

  @Text({
    minLength: 1,
    maxLength: 128,
    pattern: /^[\x21-\x39\x3b-\x7e]+$/,
    patternText: 'String should have visible characters of ASCII without a colon',
    about: 'User of the token; x-access-token when unset, as most hosts take it',
  })
  username?: string | null;

  @Text({
    minLength: 1,
    maxLength: 8192,
    pattern: /^-----BEGIN CERTIFICATE-----/,
    patternText: 'String should be a certificate in PEM',
    about: 'PEM of a certificate that the host is trusted by, where it has one of its own making',
  })
  ca_certificate?: string | null;
}

/** Body of `PUT /v1/integrations/git_host/{integration_id}/webhook`. */
class PutWebhookRequest {
  @Text({
    minLength: 16,
    maxLength: 256,
    pattern: /^[\x21-\x7e]+$/,
    patternText: 'String should have visible characters of ASCII only',
    about: 'Secret that the host signs with; generated when unset',
  })
  secret?: string | null;
}

/** Maximum number of integrations: all are stored in one Secret, which has a megabyte. */
const MAX_INTEGRATIONS = 50;

/** Git integrations of a workspace: one Secret of a type that no pod gets, a key for each. */
export class Integrations {
  constructor(
    private readonly client: Pick<KubeClient, 'create' | 'find' | 'merge'>,
    private readonly workspaces: Pick<Workspaces, 'homeOf'>,
  ) {}

  /** Integrations by name. */
  async list(caller: Caller): Promise<IntegrationAnswer[]> {
    const { data = {} } = (await this.#find(caller)) ?? {};
    return Object.entries(data)
      .flatMap(([id, value]) => {
        const found = parseGitIntegration(value);
        return found ? [answerOf(id, found)] : [];
      })
      .sort((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id));
  }

  /**
   * Requires the integration that a new deployment names, so that no revision is made which cannot be built.
   * @throws PublicError bad_request when it does not exist, or is for the host of another repository
   */
  async require(
    caller: Caller,
    { integration_id: named, repo_url: url }: Pick<SourceConfigRequest, 'integration_id' | 'repo_url'>,
  ): Promise<void> {
    if (named === undefined || named === null) return;
    const found = (await this.list(caller)).find(({ id }) => id === named.toLowerCase());
    if (!found) throw new PublicError('bad_request', `Integration with ID ${named} not found`);
    const host = url && URL.canParse(url) ? new URL(url).host : undefined;
    if (host !== undefined && host.toLowerCase() !== found.host)
      throw new PublicError(
        'bad_request',
        `Integration ${found.name} is for ${found.host}, and the repository is at ${host}; name the integration of that host`,
      );
  }

  /** @throws PublicError conflict when the workspace has as many as it may */
  async create(caller: Caller, request: CreateIntegrationRequest): Promise<IntegrationAnswer> {
    const { name, host, token, username, ca_certificate: ca } = request;
    const id = randomUUID();
    const value = formatGitIntegration({
      name,
      host: host.toLowerCase(),
      token,
      ...(username ? { username } : {}),
      ...(ca ? { ca } : {}),
    });
    const existing = await this.#find(caller);
    if (Object.keys(existing?.data ?? {}).length >= MAX_INTEGRATIONS)
      throw new PublicError(
        'conflict',
        `The workspace has ${MAX_INTEGRATIONS} git integrations, as many as it may; delete one that no deployment needs`,
      );
    if (existing || !(await this.#begin(caller, { [id]: value }))) await this.#merge(caller, { [id]: value });
    return answerOf(id, { name, host: host.toLowerCase(), token });
  }

  /**
   * Opens the webhook of an integration: pushes that its host signs with the secret are taken. Replaces an earlier secret.
   * @param given absent: one is made
   * @returns the secret
   * @throws PublicError not_found
   */
  async openWebhook(caller: Caller, id: string, given: string | undefined): Promise<string> {
    const secret = given ?? randomBytes(32).toString('base64url');
    await this.#rewrite(caller, id, (found) => ({ ...found, webhookSecret: secret }));
    return secret;
  }

  /** @throws PublicError not_found */
  async closeWebhook(caller: Caller, id: string): Promise<void> {
    await this.#rewrite(caller, id, ({ webhookSecret: _former, ...found }) => found);
  }

  /** @throws PublicError not_found, conflict when another request changed it meanwhile */
  async #rewrite(
    caller: Caller,
    id: string,
    change: (found: GitIntegration) => GitIntegration,
  ): Promise<void> {
    const { data = {}, metadata } = (await this.#find(caller)) ?? {};
    const value = Object.hasOwn(data, id) ? data[id] : undefined;
    const found = value === undefined ? undefined : parseGitIntegration(value);
    if (!found) throw new PublicError('not_found', `Integration with ID ${id} not found`);
    const { resourceVersion } = metadata ?? {};
    await this.client.merge(SECRETS, this.#placeOf(caller), {
      metadata: { resourceVersion },
      data: { [id]: formatGitIntegration(change(found)) },
    });
  }

  /** @throws PublicError not_found */
  async delete(caller: Caller, id: string): Promise<void> {
    const { data = {} } = (await this.#find(caller)) ?? {};
    if (!Object.hasOwn(data, id)) throw new PublicError('not_found', `Integration with ID ${id} not found`);
    await this.#merge(caller, { [id]: null });
  }

  #placeOf({ tenantId }: Caller) {
    return { namespace: this.workspaces.homeOf(tenantId).namespace, name: GIT_INTEGRATIONS };
  }

  /** @throws PublicError conflict for a Secret of another type, which pods may have */
  async #find(caller: Caller): Promise<Secret | undefined> {
    const found = await this.client.find(SECRETS, this.#placeOf(caller));
    if (found && found.type !== SECRET_TYPE.gitIntegrations)
      throw new PublicError(
        'conflict',
        `Secret ${GIT_INTEGRATIONS} of the workspace has the type ${found.type ?? 'Opaque'} instead of ${SECRET_TYPE.gitIntegrations}; rename it`,
      );
    return found;
  }

  /** @returns whether it was made; else another request was first */
  async #begin(caller: Caller, data: Readonly<Record<string, string>>): Promise<boolean> {
    const labels = { [LABEL.managedBy]: MANAGED_BY, [LABEL.component]: GIT_INTEGRATIONS };
    const type = SECRET_TYPE.gitIntegrations;
    try {
      await this.client.create(SECRETS, { metadata: { ...this.#placeOf(caller), labels }, type, data });
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  /** Merges keys into the Secret; other keys stay as they are, also under concurrent writes. */
  async #merge(caller: Caller, data: Readonly<Record<string, string | null>>): Promise<void> {
    await this.client.merge(SECRETS, this.#placeOf(caller), { data });
  }
}

/** All members but the secret ones. */
function answerOf(id: string, { name, host, webhookSecret }: GitIntegration): IntegrationAnswer {
  return { id, name, host, has_webhook: webhookSecret !== undefined };
}

/** Git integrations: how builds read private repositories. */
@Resource('Integrations (v1)', 'v1/integrations/git_host')
export class IntegrationsController {
  constructor(
    private readonly integrations: Integrations,
    @Inject(API_CONFIG) private readonly config: Pick<ApiConfig, 'publicUrl'>,
  ) {}

  @Get('install', WORKSPACE, { summary: 'Git integrations of the workspace', answer: [IntegrationAnswer] })
  list(@FromCaller() caller: Caller): Promise<IntegrationAnswer[]> {
    return this.integrations.list(caller);
  }

  @Post('', WORKSPACE, {
    summary: 'Makes a git integration: a host and a token that may read its repositories',
    answer: IntegrationAnswer,
    status: 201,
    refuses: { 409: 'The workspace has as many as it may' },
  })
  create(@FromCaller() caller: Caller, @Body() body: CreateIntegrationRequest): Promise<IntegrationAnswer> {
    return this.integrations.create(caller, body);
  }

  @Put(':integration_id/webhook', WORKSPACE, {
    summary: 'Opens the webhook of an integration, or replaces its secret',
    answer: IntegrationWebhookAnswer,
    refuses: { 409: 'Another request changed the integrations at the same time; retry' },
  })
  async openWebhook(
    @FromCaller() caller: Caller,
    @PathId('integration_id') id: string,
    @AskedOrigin() origin: string,
    @Body() body: PutWebhookRequest,
  ): Promise<IntegrationWebhookAnswer> {
    const secret = await this.integrations.openWebhook(caller, id, body.secret ?? undefined);
    const path = `/v1/integrations/git_host/${id}/webhook/${caller.tenantId}`;
    return { url: `${originOf(this.config.publicUrl, origin)}${path}`, secret };
  }

  @Delete(':integration_id/webhook', WORKSPACE, {
    summary: 'Closes the webhook of an integration; branches are still looked at periodically',
    status: 204,
  })
  closeWebhook(@FromCaller() caller: Caller, @PathId('integration_id') id: string): Promise<void> {
    return this.integrations.closeWebhook(caller, id);
  }

  @Delete(':integration_id', WORKSPACE, {
    summary: 'Deletes a git integration; deployments that name it build no more',
    status: 204,
  })
  delete(@FromCaller() caller: Caller, @PathId('integration_id') id: string): Promise<void> {
    return this.integrations.delete(caller, id);
  }
}
