import { randomUUID } from 'node:crypto';
import { visibleText } from '#lib/command-line';
import type { KubeClient } from '#lib/kube';
import {
  type AgentDeployment,
  CONDITION,
  findCondition,
  isConditionTrue,
  type ObjectKey,
  REASON,
  RESOURCES,
  statusReason,
} from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { ownNamespace } from '../context/own-namespace.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { applyObject, readManifest } from '../objects/change-command.js';
import { qualifiedName } from '../objects/find-object.js';
import { print } from '../output/print-items.js';
import { deployWithSecrets } from '../secrets/secrets-command.js';
import { followObject, progressLines } from '../waiting/follow-object.js';

export interface DeployFlags extends TargetFlags {
  readonly image: string | undefined;
  readonly file: string | undefined;
  readonly secrets: string | undefined;
  readonly namespace: string | undefined;
  readonly wait: boolean;
  readonly timeout: number;
}

/** A deployment as it was written, and what its rollout is known by. */
interface Written extends Wanted {
  readonly key: ObjectKey;
  /** `created`, `changed`, `unchanged`. */
  readonly verb: string;
}

/**
 * `agentplane deploy NAME`, which acts in the workspace of the API key unless -n names another, or
 * `agentplane deploy -f FILE`, which acts as `apply` does.
 */
export async function deploy(name: string | undefined, flags: DeployFlags): Promise<void> {
  const { image, file, secrets } = flags;
  if (name === undefined && file === undefined)
    throw new CommandError(
      'usage',
      'deploy needs the NAME of an agent, whose image has that name unless --image names another, or a manifest with -f FILE; "agentplane image list" shows images',
    );
  if (file !== undefined && (name !== undefined || image !== undefined))
    throw new CommandError(
      'usage',
      'deploy takes a NAME (with --image) or a manifest with -f FILE, not both',
    );
  if (secrets !== undefined && name === undefined)
    throw new CommandError(
      'usage',
      'deploy --secrets takes a NAME; a manifest names a Secret in spec.secretsRef',
    );
  const target = resolveTarget(flags);
  if (secrets !== undefined && name !== undefined) {
    await ownNamespace(target, flags.namespace);
    return deployWithSecrets(name, { ...flags, secrets, source: imageSource(image ?? name) });
  }
  await withKube(target, async ({ client, connection }) => {
    const { namespace } = flags;
    const written =
      name !== undefined
        ? [await deployImage(client, { namespace: namespace ?? (await ownNamespace(target)), name }, image)]
        : await deployManifest(client, file ?? '', namespace ?? connection.namespace);
    for (const { key, verb } of written)
      print(`${qualifiedName(RESOURCES.AgentDeployment, key.name)} ${verb}\n`);
    if (!flags.wait) return;
    for (const one of written) {
      const { revision, url } = await waitForRollout(client, one.key, one, {
        timeoutMs: flags.timeout,
        onProgress: (message) => process.stderr.write(`${one.key.name}: ${visibleText(message)}\n`),
      });
      print(`${revision} serves at ${url}\n`);
    }
  });
}

/** Makes the deployment, or gives it a new revision of the image: its present one unless another is named. */
async function deployImage(client: KubeClient, key: ObjectKey, image: string | undefined): Promise<Written> {
  const ref = RESOURCES.AgentDeployment;
  const found = await client.find(ref, key);
  if (!found) {
    const imageUri = image ?? key.name;
    const metadata = { name: key.name, ...(key.namespace === undefined ? {} : { namespace: key.namespace }) };
    const spec = { source: imageSource(imageUri), sourceRevisionConfig: { imageUri } };
    const made = await client.apply(ref, { metadata, spec });
    return { key, verb: 'created', generation: made.metadata.generation ?? 1, revisionRequestId: undefined };
  }
  const revisionRequest = { id: randomUUID(), at: systemClock.now().toISOString() };
  const imageUri = image ?? found.spec.sourceRevisionConfig.imageUri;
  const changed = await client.merge(ref, key, {
    spec: { revisionRequest, ...(imageUri === undefined ? {} : { sourceRevisionConfig: { imageUri } }) },
  });
  return {
    key,
    verb: 'changed',
    generation: changed.metadata.generation ?? 1,
    revisionRequestId: revisionRequest.id,
  };
}

/** The source of an image: a name without a slash is one of the platform's own store, anything else one that a cluster pulls. */
function imageSource(image: string): AgentDeployment['spec']['source'] {
  return image.includes('/') ? 'external_image' : 'internal_image';
}

/** Applies every object of the file, in its order; answers its deployments. */
async function deployManifest(
  client: KubeClient,
  file: string,
  namespace: string,
): Promise<readonly Written[]> {
  const objects = readManifest(file);
  const { kind, group } = RESOURCES.AgentDeployment;
  if (!objects.some((object) => object.kind === kind && object.apiVersion.startsWith(`${group}/`)))
    throw new CommandError(
      'usage',
      `${file} holds no AgentDeployment: "agentplane apply -f ${file}" applies other kinds`,
    );
  const written: Written[] = [];
  for (const object of objects) {
    const applied = await applyObject(client, object, namespace);
    if (applied.kind.kind === kind && applied.kind.group === group)
      written.push({ ...applied, revisionRequestId: undefined });
  }
  return written;
}

/** Progress of the rollout of a deployment. */
type Rollout =
  | { readonly kind: 'pending'; readonly message: string }
  | { readonly kind: 'ready'; readonly revision: string; readonly url: string }
  /** It fails as it is: a person must change something. */
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string };

/** The requested state, which tells its rollout from earlier ones. */
export interface Wanted {
  readonly generation: number;
  /** Absent when no new revision was asked for by an id. */
  readonly revisionRequestId: string | undefined;
}

/** Reasons under which nothing will happen by itself. */
const REFUSALS: ReadonlySet<string> = new Set([
  REASON.nameTaken,
  REASON.reservedEnvironment,
  REASON.dangerousEnvironment,
  REASON.secretMissing,
  REASON.secretRefused,
  REASON.volumeRefused,
  REASON.podSecurityRefused,
  REASON.notOurs,
  REASON.listenerMissing,
  REASON.revisionMissing,
  REASON.suspended,
  REASON.imagePullFailed,
  REASON.buildFailed,
  REASON.buildTimedOut,
  REASON.buildRefused,
  REASON.integrationMissing,
  REASON.repositoryRefused,
  REASON.refNotFound,
]);

/** Rollout of the requested state according to the status of a deployment. */
export function decideRollout(deployment: AgentDeployment, wanted: Wanted): Rollout {
  const { status, metadata } = deployment;
  const reported = statusReason(deployment);
  const pending: Rollout = { kind: 'pending', message: reported?.message ?? 'waiting for the controller' };
  const ready = findCondition(status?.conditions, CONDITION.ready);
  const revisionReady = findCondition(status?.conditions, CONDITION.revisionReady);
  // the outcome of an earlier generation says nothing about this one
  const isCurrent =
    (status?.observedGeneration ?? 0) >= wanted.generation &&
    (wanted.revisionRequestId === undefined || status?.handledRevisionRequestId === wanted.revisionRequestId);
  if (reported && ready?.status !== 'True' && REFUSALS.has(reported.reason))
    return { kind: 'failed', reason: reported.reason, message: reported.message };
  if (!isCurrent) return pending;
  const { latestRevisionName: latest, activeRevisionName: active, url } = status ?? {};
  if (isConditionTrue(status?.conditions, CONDITION.ready) && latest !== undefined && latest === active)
    return url === undefined
      ? { kind: 'pending', message: `${latest} waits for its address` }
      : { kind: 'ready', revision: latest, url };
  if (revisionReady?.status === 'False' && latest !== active)
    return {
      kind: 'failed',
      reason: revisionReady.reason,
      message: revisionReady.message || `${latest ?? metadata.name} failed`,
    };
  return pending;
}

/** A refusal may be left over from before: it counts once it has lasted for so long. */
const LASTING_MS = 3_000;

export interface WaitOptions {
  readonly timeoutMs: number;
  /** One line, each time that something else is waited for. */
  readonly onProgress: (message: string) => void;
  readonly clock?: Clock;
}

/**
 * Waits until the deployment serves what was asked for.
 * @throws CommandError `failed` with the reason, `timedOut`, or `notFound` when it was deleted meanwhile
 */
export async function waitForRollout(
  client: KubeClient,
  key: ObjectKey,
  wanted: Wanted,
  { timeoutMs, onProgress, clock = systemClock }: WaitOptions,
): Promise<Extract<Rollout, { kind: 'ready' }>> {
  const show = progressLines(onProgress, () => clock.monotonicMs());
  let last = 'waiting for the controller';
  let failedSinceMs: number | undefined;
  for await (const deployment of followObject(client, RESOURCES.AgentDeployment, key, { timeoutMs, clock })) {
    if (!deployment)
      throw new CommandError('notFound', `AgentDeployment ${key.name} was deleted while it was deployed`);
    const rollout = decideRollout(deployment, wanted);
    switch (rollout.kind) {
      case 'ready':
        return rollout;
      case 'failed':
        failedSinceMs ??= clock.monotonicMs();
        if (clock.monotonicMs() - failedSinceMs < LASTING_MS) break;
        throw new CommandError(
          'failed',
          `deploying ${key.name} failed (${rollout.reason}): ${rollout.message}; "agentplane describe adep ${key.name}" and "agentplane logs ${key.name}" show more`,
        );
      case 'pending':
        failedSinceMs = undefined;
        if (rollout.message !== last) show(rollout.message);
        last = rollout.message;
        break;
      default:
        rollout satisfies never;
    }
  }
  throw new CommandError(
    'timedOut',
    `${key.name} is not ready after ${timeoutMs / 1000} s: ${last}; it goes on, and "agentplane get adep ${key.name}" shows how far`,
  );
}
