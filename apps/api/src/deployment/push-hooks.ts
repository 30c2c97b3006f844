import { createHash, randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import type { TokenBuckets, WrongKeys } from '#lib/http';
import { isJsonObject, type JsonObject } from '#lib/json';
import type { KubeClient } from '#lib/kube';
import { GIT_INTEGRATIONS, parseGitIntegration } from '#lib/manifests';
import { type AgentDeployment, ANNOTATION, isDeleting, keyOf, SECRETS } from '#lib/resources';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import { parseBody } from '../wire/body-parsers.js';
import { announcedPush, type AnnouncedPush, mayMove, repositoryName } from './announced-push.js';
import { type HookHeaders, isSignedBy } from './hook-signature.js';

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
