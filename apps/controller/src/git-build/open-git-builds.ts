import { join } from 'node:path';
import { INSTALLATION } from '#lib/data-folder';
import { buildInput, type ImageRegistry, imageRepository } from '#lib/manifests';
import { openImageStore } from '#lib/image-store';
import { type ControllerConfig, platformSettings } from '../config.js';
import type { Parts } from '../parts.js';
import { repositoryGuard } from '../git-remote/repository-guard.js';
import { clusterUid } from '../unused-images/cluster-uid.js';
import { BuildingRevisions, GitBuilds, type TakeImage } from './git-builds.js';
import { TerminalError } from '#lib/errors';
import { IMAGE_PUSHED, parseTerminationMessage } from '#lib/lifecycle';
import { REASON } from '#lib/resources';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/**
 * The image that the last container of a build pushed, by the message that it left.
 * @throws TerminalError when it names none, or one of another repository than the deployment's
 */
export function pushedImage(registry: ImageRegistry): TakeImage {
  return (revision, pod) => {
    const repository = imageRepository(revision, registry);
    const messages = (pod.status?.containerStatuses ?? []).map(({ state }) =>
      parseTerminationMessage(state?.terminated?.message ?? ''),
    );
    const message = messages.find((one) => one?.reason === IMAGE_PUSHED)?.message ?? '';
    const [found = '', digest = ''] = message.split('@');
    if (found !== repository || !DIGEST.test(digest))
      return Promise.reject(
        new TerminalError(
          REASON.buildFailed,
          `the build ended without an image in ${repository}; the images of builder and controller have to be of one version`,
        ),
      );
    return Promise.resolve(message);
  };
}

/** Registry for images of builds from this program's configuration; undefined when it has none. */
function imageRegistry(config: ControllerConfig): ImageRegistry | undefined {
  const { buildRegistry: prefix, buildNamespace: namespace, buildPushSecret: pushSecret } = config;
  if (prefix === undefined) return undefined;
  const { buildRegistryInsecure: isInsecure, buildRegistryCa: ca } = config;
  const { buildBase: base, buildPythonBase: pythonBase } = config;
  return { prefix, namespace, pushSecret, isInsecure, ca, base, pythonBase };
}

const MAX_ENTRIES = 200_000;
const MEGABYTE = 1_048_576;
const UID = /^[0-9a-zA-Z-]{1,63}$/;

/** Builds as this program is set. */
export function openGitBuilds(parts: Parts): GitBuilds {
  const { config, buildJobs, namespaces, revisions } = parts;
  const { builds: places, buildTimeoutMs: timeoutMs, buildMemoryMb: memoryMb } = config;
  const { buildImageMegabytes: imageMb, npmRegistry: registry, pythonIndex } = config;
  const images = imageRegistry(config);
  return new GitBuilds({
    ...parts,
    guard: repositoryGuard(config),
    jobs: buildJobs,
    images,
    revisions: new BuildingRevisions(revisions),
    limits: { places, timeoutMs, memoryMb, imageMb, registry, pythonIndex },
    settings: platformSettings(config),
    takeImage: images
      ? pushedImage(images)
      : imageTaker(config, () => clusterUid(namespaces, config.systemNamespace)),
  });
}

/** Makes the image from the folder of a pod that has ended; undefined without a store. */
function imageTaker(
  { imageStore, podFolders, buildImageMegabytes, builtImagesMegabytes }: ControllerConfig,
  cluster: () => string,
): TakeImage | undefined {
  if (imageStore === undefined || podFolders === undefined) return undefined;
  return async (revision, pod) => {
    const { metadata, spec } = revision;
    const podUid = pod.metadata.uid ?? '';
    if (!UID.test(podUid)) throw new Error(`the pod of the build has the uid ${JSON.stringify(podUid)}`);
    const built = {
      source: join(podFolders, podUid, 'work', 'source'),
      graphConfig: buildInput(revision)?.graphConfigPath ?? '',
      namespace: metadata.namespace ?? '',
      cluster: cluster(),
      maxNamespaceBytes: builtImagesMegabytes * MEGABYTE,
      limits: { maxBytes: buildImageMegabytes * MEGABYTE, maxEntries: MAX_ENTRIES },
    };
    const store = openImageStore({ folder: imageStore, installation: INSTALLATION });
    return await store.importBuilt(spec.deploymentName, built);
  };
}
