import { randomUUID } from 'node:crypto';
import { visibleText } from '#lib/command-line';
import { EXIT } from '#lib/lifecycle';
import type { KubeClient } from '#lib/kube';
import { type AgentDeployment, type ObjectKey, RESOURCES } from '#lib/resources';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { applyObject } from '../objects/apply-manifest.js';
import { qualifiedName } from '../objects/find-object.js';
import { print } from '../output/print-items.js';
import { waitForRollout, type Wanted } from './wait-for-rollout.js';
import { readManifest } from '../objects/read-manifest.js';

export interface DeployFlags extends TargetFlags {
  readonly image: string | undefined;
  readonly file: string | undefined;
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

/** `agentplane deploy NAME` or `agentplane deploy -f FILE`. */
export async function deploy(name: string | undefined, flags: DeployFlags): Promise<number> {
  const { image, file } = flags;
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
  return await withKube(resolveTarget(flags), async ({ client, connection }) => {
    const namespace = flags.namespace ?? connection.namespace;
    const written =
      file === undefined
        ? [await deployImage(client, { namespace, name: name ?? '' }, image)]
        : await deployManifest(client, file, namespace);
    for (const { key, verb } of written)
      print(`${qualifiedName(RESOURCES.AgentDeployment, key.name)} ${verb}\n`);
    if (!flags.wait) return EXIT.ok;
    for (const one of written) {
      const { revision, url } = await waitForRollout(client, one.key, one, {
        timeoutMs: flags.timeout,
        onProgress: (message) => process.stderr.write(`${one.key.name}: ${visibleText(message)}\n`),
      });
      print(`${revision} serves at ${url}\n`);
    }
    return EXIT.ok;
  });
}

/** A name without a slash is an image of the platform's own store, anything else one that a cluster pulls. */
function sourceOf(image: string): AgentDeployment['spec']['source'] {
  return image.includes('/') ? 'external_image' : 'internal_image';
}

/** Makes the deployment, or gives it a new revision of the image: its present one unless another is named. */
async function deployImage(client: KubeClient, key: ObjectKey, image: string | undefined): Promise<Written> {
  const ref = RESOURCES.AgentDeployment;
  const found = await client.find(ref, key);
  if (!found) {
    const imageUri = image ?? key.name;
    const metadata = { name: key.name, ...(key.namespace === undefined ? {} : { namespace: key.namespace }) };
    const spec = { source: sourceOf(imageUri), sourceRevisionConfig: { imageUri } };
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
