import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { PublicError } from '#lib/errors';
import type { TokenBuckets, WrongKeys } from '#lib/http';
import { isJsonObject, type JsonObject } from '#lib/json';
import type { KubeClient } from '#lib/kube';
import { GIT_INTEGRATIONS, parseGitIntegration } from '#lib/manifests';
import { type AgentDeployment, ANNOTATION, isDeleting, keyOf, SECRETS } from '#lib/resources';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import { parseBody } from '../wire/body-parsers.js';
import { Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { clientAddress } from '../wire/origin-of.js';
import { Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { Post } from '../wire/route.js';
import { publicly } from '../wire/route-access.js';
import { HeardPushAnswer } from './integration-answer.js';

/** A push that a git host announces. Its commit is ignored: the platform looks itself. */
interface AnnouncedPush {
  /** `refs/heads/main`. */
  readonly ref: string;
  /** Addresses of the repository, as `repositoryName` compares them. */
  readonly repositories: ReadonlySet<string>;
}

const EVENT_HEADERS = [
  'x-github-event',
  'x-gitea-event',
  'x-forgejo-event',
  'x-gogs-event',
  'x-gitlab-event',
];
const PUSHES = new Set(['push', 'push hook', 'system hook']);
const ADDRESSES = ['clone_url', 'html_url', 'git_http_url', 'http_url', 'web_url', 'homepage'];

/**
 * The push to a branch that a hook announces; undefined for every other event, tags among them, and for a branch that was
 * deleted.
 * @param body JSON
 */
function announcedPush(headers: HookHeaders, body: JsonObject): AnnouncedPush | undefined {
  const events = EVENT_HEADERS.map((name) => headers[name]).filter((event) => typeof event === 'string');
  if (!events.some((event) => PUSHES.has(event.toLowerCase()))) return undefined;
  const { ref, after, repository, project } = body;
  if (typeof ref !== 'string' || !ref.startsWith('refs/heads/')) return undefined;
  if (typeof after === 'string' && /^0+$/.test(after)) return undefined;
  const repositories = [repository, project].filter(isJsonObject).flatMap((one) =>
    ADDRESSES.map((name) => one[name])
      .filter((address) => typeof address === 'string')
      .flatMap((address) => repositoryName(address) ?? []),
  );
  return { ref, repositories: new Set(repositories) };
}

/**
 * A repository regardless of the scheme, the login and the ending of its address; undefined for a text that
 * is not an address.
 */
function repositoryName(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { host, pathname } = new URL(address);
  // without the look back, each slash of a path of a megabyte of them would begin a search
  return `${host.toLowerCase()}${pathname.replace(/(?<!\/)\/+$/, '').replace(/\.git$/, '')}`;
}

/** True when a push to `ref` may move the branch that a deployment names; the default branch may be any. */
function mayMove(repoRef: string | undefined, ref: string): boolean {
  return (
    repoRef === undefined ||
    repoRef === 'HEAD' ||
    ref === `refs/heads/${repoRef.replace(/^refs\/heads\//, '')}`
  );
}

/** Headers of a request, by their names in lower case. */
type HookHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * True when a git host that knows the secret sent this body: GitHub and Forgejo sign it
 * (`X-Hub-Signature-256`), as Gitea does (`X-Gitea-Signature`, `X-Forgejo-Signature`, `X-Gogs-Signature`);
 * GitLab shows the secret itself (`X-Gitlab-Token`).
 * @param body as it came: a body that was parsed and printed again has another signature
 */
function isSignedBy(secret: string, headers: HookHeaders, body: Buffer): boolean {
  const token = headers['x-gitlab-token'];
  if (typeof token === 'string' && isSame(token, secret)) return true;
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const isOf = (name: string, prefix = ''): boolean => {
    const given = headers[name];
    return typeof given === 'string' && isSame(given.toLowerCase(), prefix + signature);
  };
  return (
    isOf('x-hub-signature-256', 'sha256=') ||
    isOf('x-gitea-signature') ||
    isOf('x-forgejo-signature') ||
    isOf('x-gogs-signature')
  );
}

/** Compares in constant time, lengths included. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

const DELIVERY_HEADERS = [
  'x-github-delivery',
  'x-gitea-delivery',
  'x-forgejo-delivery',
  'x-gogs-delivery',
  'x-gitlab-event-uuid',
];

/** One call of a git host. */
export interface HookCall {
  readonly tenantId: string;
  readonly integrationId: string;
  /** Address of the caller. */
  readonly address: string | undefined;
  readonly headers: HookHeaders;
  readonly body: Buffer;
}

/** Dependencies of `PushHooks`. */
export interface PushHookParts {
  readonly client: Pick<KubeClient, 'find'>;
  readonly deployments: Pick<ResourceHome<AgentDeployment>, 'list' | 'change'>;
  readonly workspaces: Pick<Workspaces, 'has' | 'homeOf'>;
  /** Calls without a right signature, by their source. */
  readonly wrongSignatures: WrongKeys;
  /** Calls with one, by the integration. */
  readonly pace: TokenBuckets;
}

/**
 * Receives announcements of pushes from git hosts. A signed call brings the next look at the branch forward,
 * for each deployment that follows it; the commits in the call are ignored, and a lost call costs a minute.
 */
export class PushHooks {
  constructor(private readonly parts: PushHookParts) {}

  /**
   * @returns the number of deployments that look at their branch because of it
   * @throws PublicError unauthenticated, the same for every mismatch; too_many; invalid
   */
  async hear(call: HookCall): Promise<number> {
    const { wrongSignatures, pace, workspaces, deployments } = this.parts;
    const { tenantId, integrationId, address, headers, body } = call;
    const attempt = wrongSignatures.begin(address, `${tenantId}/${integrationId}`);
    const secret = await this.#secretOf(call);
    if (secret === undefined || !isSignedBy(secret, headers, body))
      throw attempt.wrong(
        new PublicError('unauthenticated', 'The webhook is not known, or its signature is wrong'),
      );
    attempt.good();
    if (!pace.take(integrationId))
      throw new PublicError(
        'too_many',
        'The integration announces too many pushes; branches are looked at anyway',
        [],
        {
          retryAfterSeconds: Math.max(1, Math.ceil(pace.secondsUntilNext(integrationId))),
        },
      );
    const push = announcedPush(headers, bodyOf(headers, body));
    if (!push) return 0;
    const { namespace } = workspaces.homeOf(tenantId);
    const followers = deployments
      .list(namespace)
      .filter((one) => !isDeleting(one) && isFollower(one, integrationId, push));
    const heard = deliveryOf(headers);
    for (const follower of followers) await this.#wake(follower, heard);
    return followers.length;
  }

  async #secretOf({ tenantId, integrationId }: HookCall): Promise<string | undefined> {
    const { client, workspaces } = this.parts;
    if (!workspaces.has(tenantId)) return undefined;
    const place = { namespace: workspaces.homeOf(tenantId).namespace, name: GIT_INTEGRATIONS };
    const { data = {} } = (await client.find(SECRETS, place)) ?? {};
    const value = Object.hasOwn(data, integrationId) ? data[integrationId] : undefined;
    return value === undefined ? undefined : parseGitIntegration(value)?.webhookSecret;
  }

  /** The same call again, as hosts repeat them, changes nothing. */
  async #wake(deployment: AgentDeployment, heard: string): Promise<void> {
    if (deployment.metadata.annotations?.[ANNOTATION.pushHeard] === heard) return;
    await this.parts.deployments.change(keyOf(deployment), (object) => {
      const annotations = { ...object.metadata.annotations, [ANNOTATION.pushHeard]: heard };
      return { ...object, metadata: { ...object.metadata, annotations } };
    });
  }
}

/** Name of a delivery, the same for a call that its host repeats; calls without a name are all different. */
function deliveryOf(headers: HookHeaders): string {
  const named = DELIVERY_HEADERS.map((name) => headers[name]).find((value) => typeof value === 'string');
  return createHash('sha256')
    .update(named ?? randomUUID())
    .digest('hex')
    .slice(0, 32);
}

function isFollower({ spec }: AgentDeployment, integrationId: string, push: AnnouncedPush): boolean {
  const { source, sourceConfig, sourceRevisionConfig, suspend } = spec;
  const { buildOnPush, integrationId: own, repoUrl = '' } = sourceConfig;
  if (source !== 'git_host' || buildOnPush !== true || suspend === true) return false;
  const repository = repositoryName(repoUrl);
  return (
    own?.toLowerCase() === integrationId &&
    repository !== undefined &&
    push.repositories.has(repository) &&
    mayMove(sourceRevisionConfig.repoRef, push.ref)
  );
}

/** Payload of the body: JSON, or a form whose `payload` it is, which is GitHub's default. */
function bodyOf(headers: HookHeaders, body: Buffer): JsonObject {
  const isForm = String(headers['content-type'] ?? '').startsWith('application/x-www-form-urlencoded');
  const text = isForm ? (new URLSearchParams(body.toString('utf8')).get('payload') ?? '') : undefined;
  const value = parseBody(text === undefined ? body : Buffer.from(text, 'utf8'));
  return isJsonObject(value) ? value : {};
}

/** Endpoint at which git hosts announce pushes. */
@Resource('Integrations (v1)', 'v1/integrations/git_host')
export class PushHooksController {
  constructor(private readonly hooks: PushHooks) {}

  @Post(':integration_id/webhook/:tenant_id', publicly('a git host signs with a secret of the integration'), {
    summary: 'Receives the signed webhook of a git host; needs no key',
    status: 202,
    answer: HeardPushAnswer,
    refuses: {
      401: 'The webhook is not known, or its signature is wrong',
      413: 'The body is too large',
      429: 'Too many pushes, or too many wrong signatures from this address',
    },
    config: { signedBody: true },
  })
  async hear(
    @PathId('integration_id') integrationId: string,
    @PathId('tenant_id') tenantId: string,
    @Req() request: FastifyRequest,
  ): Promise<HeardPushAnswer> {
    const { headers, body } = request;
    const woken = await this.hooks.hear({
      integrationId,
      tenantId,
      address: clientAddress(request),
      headers,
      body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
    });
    return { woken };
  }
}
