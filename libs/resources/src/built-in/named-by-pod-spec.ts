import { at, listAt, recordAt } from '#lib/json';

/** Kinds of objects that a pod names for its containers. */
export type PodReference = 'secrets' | 'configmaps' | 'persistentvolumeclaims';

type Path = readonly [string, ...string[]];

interface Places {
  readonly environment: readonly Path[];
  readonly variable: readonly Path[];
  readonly volume: readonly Path[];
  readonly projected: readonly Path[];
}

/** Fields of a pod's spec that name an object. */
const PLACES: Readonly<Record<PodReference, Places>> = {
  secrets: {
    environment: [['secretRef', 'name']],
    variable: [['valueFrom', 'secretKeyRef', 'name']],
    volume: [
      ['secret', 'secretName'],
      ['csi', 'nodePublishSecretRef', 'name'],
      ['azureFile', 'secretName'],
      ['cephfs', 'secretRef', 'name'],
      ['flexVolume', 'secretRef', 'name'],
      ['iscsi', 'secretRef', 'name'],
      ['rbd', 'secretRef', 'name'],
      ['scaleIO', 'secretRef', 'name'],
      ['storageos', 'secretRef', 'name'],
    ],
    projected: [['secret', 'name']],
  },
  configmaps: {
    environment: [['configMapRef', 'name']],
    variable: [['valueFrom', 'configMapKeyRef', 'name']],
    volume: [['configMap', 'name']],
    projected: [['configMap', 'name']],
  },
  persistentvolumeclaims: {
    environment: [],
    variable: [],
    volume: [['persistentVolumeClaim', 'claimName']],
    projected: [],
  },
};

/**
 * Attribute that names the Secret for drivers of file shares; some read the names of their attributes in any
 * case.
 */
const SECRET_ATTRIBUTE = /^secret-?name$/i;

const CONTAINERS = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/**
 * The names of all objects of a kind that the containers and volumes of a pod's spec name, each once. Secrets that images are
 * pulled with are not among them: containers never see these.
 */
export function namedByPodSpec(spec: unknown, kind: PodReference): readonly string[] {
  const places = PLACES[kind];
  const containers = CONTAINERS.flatMap((list) => listAt(spec, list));
  const volumes = listAt(spec, 'volumes');
  const found = [
    ...namesAt(
      containers.flatMap((each) => listAt(each, 'envFrom')),
      places.environment,
    ),
    ...namesAt(
      containers.flatMap((each) => listAt(each, 'env')),
      places.variable,
    ),
    ...namesAt(volumes, places.volume),
    ...(kind === 'secrets' ? volumes.flatMap(attributeSecrets) : []),
    ...namesAt(
      volumes.flatMap((each) => listAt(each, 'projected', 'sources')),
      places.projected,
    ),
  ];
  return [...new Set(found)];
}

/** The names of the Secrets that the images of a pod are pulled with. */
export function pullSecretsOf(spec: unknown): readonly string[] {
  return namesAt(listAt(spec, 'imagePullSecrets'), [['name']]);
}

function attributeSecrets(volume: unknown): readonly string[] {
  const attributes = Object.entries(recordAt(volume, 'csi', 'volumeAttributes'));
  return attributes.flatMap(([name, value]) =>
    SECRET_ATTRIBUTE.test(name) && typeof value === 'string' && value !== '' ? [value] : [],
  );
}

function namesAt(parts: readonly unknown[], paths: readonly Path[]): readonly string[] {
  return parts
    .flatMap((part) => paths.map((path) => at(part, ...path)))
    .filter((name) => typeof name === 'string')
    .filter((name) => name !== '');
}
