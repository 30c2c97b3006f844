import { join } from 'node:path';
import { INSTALLATION } from '#lib/data-folder';
import { buildInput } from '#lib/manifests';
import { openImageStore } from '#lib/image-store';
import type { KubeClient } from '#lib/kube';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import { type ControllerConfig, platformSettings } from '../config.js';
import { repositoryGuard } from '../git-remote/repository-guard.js';
import { clusterUid } from '../unused-images/cluster-uid.js';
import { BuildingRevisions, GitBuilds, type TakeImage } from './git-builds.js';
import type { CommitLooks } from '../git-remote/commit-looks.js';
import { imageRegistry } from './image-registry.js';
import { pushedImage } from './pushed-image.js';

const MAX_ENTRIES = 200_000;
const MEGABYTE = 1_048_576;
const UID = /^[0-9a-zA-Z-]{1,63}$/;

/** Builds as this program is set. */
export function openGitBuilds(
  { revisions, buildJobs: jobs, namespaces }: Caches,
  client: KubeClient,
  clock: Clock,
  looks: CommitLooks,
  config: ControllerConfig,
): GitBuilds {
  const guard = repositoryGuard(config);
  const { builds: places, buildTimeoutMs: timeoutMs, buildMemoryMb: memoryMb } = config;
  const { buildImageMegabytes: imageMb, npmRegistry: registry, pythonIndex } = config;
  const images = imageRegistry(config);
  return new GitBuilds({
    client,
    clock,
    guard,
    looks,
    jobs,
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
