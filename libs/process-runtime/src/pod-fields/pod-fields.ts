/** `kube-api-access-…`, by what it projects: a user's volume may have any name. */
export function isTokenVolume(value: unknown): boolean {
  const { sources } = value as { readonly sources?: readonly Readonly<Record<string, unknown>>[] };
  // a token for another audience is not the one in the kubeconfig
  const isOwnToken = (token: unknown): boolean =>
    typeof token === 'object' && token !== null && !('audience' in token && token.audience !== '');
  const isCa = (source: unknown): boolean => jsonName(source) === 'kube-root-ca.crt';
  return (
    sources?.every(
      (source) =>
        isOwnToken(source['serviceAccountToken']) || 'downwardAPI' in source || isCa(source['configMap']),
    ) === true && sources.some((source) => 'serviceAccountToken' in source)
  );
}

/** Facts about the node that matter when it judges a pod. */
export interface ProcessUser {
  /** The user that the pod's processes run as; undefined where the machine has no such numbers. */
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  /** True when its processes can have mounts of their own. */
  readonly hasMounts?: boolean;
}

/** Treatment of one field of a pod by the process runtime. */
export type FieldRule =
  /** It has the meaning that it has in a cluster. */
  | { readonly kind: 'honoured'; readonly how: string }
  /** It has no effect, which takes nothing from the pod that it could notice, or is said in the reason. */
  | { readonly kind: 'ignored'; readonly because: string }
  /** A pod with this field is not started, unless the value asks for nothing. */
  | {
      readonly kind: 'refused';
      readonly instead: string;
      /** Values that ask for nothing beside empty ones. */
      readonly except?: string;
      readonly allows?: (value: unknown, user: ProcessUser) => boolean;
    }
  /** Judged field by field. */
  | { readonly kind: 'inside'; readonly section: PodSection };

/** The parts of a pod, by their names in the API of Kubernetes. */
export type PodSection =
  | 'PodSpec'
  | 'PodSecurityContext'
  | 'PodDNSConfig'
  | 'Volume'
  | 'Container'
  | 'VolumeMount'
  | 'SecurityContext'
  | 'Capabilities'
  | 'SeccompProfile'
  | 'AppArmorProfile'
  | 'ContainerPort'
  | 'Probe'
  | 'HTTPGetAction'
  | 'Lifecycle'
  | 'ResourceRequirements'
  | 'EnvVar'
  | 'EnvVarSource';

const honoured = (how: string): FieldRule => ({ kind: 'honoured', how });
const ignored = (because: string): FieldRule => ({ kind: 'ignored', because });
const refused = (
  instead: string,
  except?: string,
  allows?: (value: unknown, user: ProcessUser) => boolean,
): FieldRule => ({
  kind: 'refused',
  instead,
  ...(except === undefined ? {} : { except }),
  ...(allows === undefined ? {} : { allows }),
});
const inside = (section: PodSection): FieldRule => ({ kind: 'inside', section });
const only = (...values: readonly unknown[]): ((value: unknown) => boolean) => {
  return (value) => values.includes(value);
};

const CLUSTER = 'run it on a cluster';
const NO_VOLUMES =
  'use emptyDir, configMap, secret, projected or downwardAPI where the machine lets users make namespaces; pass values in env or envFrom, files in the image, or run it on a cluster';
const WITH_MOUNTS = 'where the machine lets users make namespaces (Linux), as of the start of each container';
const SCHEDULER = honoured('by the scheduler');
const ONE_MACHINE = ignored('one machine has one choice');
const NOT_ROOT = 'drop it: no process gets more rights than the user it runs as';
const OWN_USER = 'drop it: the node chooses the user of a pod';
const HOST_NAMES = ignored('processes see the name of the machine');
const LOCAL_PROFILE = refused('name RuntimeDefault or Unconfined, or run it on a cluster');
const isOwnUser = (value: unknown, { uid }: ProcessUser): boolean => value === uid;
const isOwnGroup = (value: unknown, { gid }: ProcessUser): boolean => value === gid;
const isNotRoot = (value: unknown, { uid }: ProcessUser): boolean => value !== true || uid !== 0;

const RUN_AS: Readonly<Record<string, FieldRule>> = {
  runAsUser: refused(OWN_USER, 'the user that the pod runs as anyway', isOwnUser),
  runAsGroup: refused(OWN_USER, 'the group that the pod runs as anyway', isOwnGroup),
  runAsNonRoot: refused(
    'start the platform as another user than root, or put the data folder where other users may pass',
    '`true` where pods do not run as root',
    isNotRoot,
  ),
  seLinuxOptions: refused(CLUSTER),
  seccompProfile: inside('SeccompProfile'),
  appArmorProfile: inside('AppArmorProfile'),
  windowsOptions: refused(CLUSTER),
};

/**
 * Every field of a pod and what becomes of it; docs/reference/pods.md is made of it. More rights than a process has, and
 * places that it does not have, are refused. Fewer rights are honoured as far as the machine can; the reason says where
 * they are not.
 */
export const POD_FIELDS: Readonly<Record<PodSection, Readonly<Record<string, FieldRule>>>> = {
  PodSpec: {
    containers: inside('Container'),
    initContainers: inside('Container'),
    ephemeralContainers: refused('use kubectl logs, or a process of your own beside the pod'),
    volumes: inside('Volume'),
    securityContext: inside('PodSecurityContext'),
    dnsConfig: inside('PodDNSConfig'),
    activeDeadlineSeconds: honoured('the pod fails when the time is over'),
    automountServiceAccountToken: honoured('`true`: a kubeconfig in `KUBECONFIG`'),
    serviceAccount: honoured('the older name of `serviceAccountName`'),
    serviceAccountName: honoured('the token in the kubeconfig is of this account'),
    restartPolicy: honoured('with a back-off of 1 s, 2 s, … 5 min'),
    terminationGracePeriodSeconds: honoured('between SIGTERM and SIGKILL'),
    nodeName: SCHEDULER,
    nodeSelector: SCHEDULER,
    schedulerName: SCHEDULER,
    schedulingGates: SCHEDULER,
    tolerations: SCHEDULER,
    overhead: SCHEDULER,
    affinity: ONE_MACHINE,
    topologySpreadConstraints: ONE_MACHINE,
    priority: ONE_MACHINE,
    priorityClassName: ONE_MACHINE,
    preemptionPolicy: ONE_MACHINE,
    resources: inside('ResourceRequirements'),
    resourceClaims: refused(CLUSTER),
    runtimeClassName: refused('drop it: this node has one runtime'),
    os: refused('drop it', '`linux`', (value) => jsonName(value) === 'linux'),
    hostNetwork: refused(
      'drop it: processes have the network of the machine, and ports that the node chooses',
    ),
    hostPID: refused('drop it'),
    hostIPC: refused('drop it'),
    hostUsers: refused('drop it, or run it on a cluster', '`true`', only(true)),
    hostAliases: refused(CLUSTER),
    hostname: HOST_NAMES,
    hostnameOverride: HOST_NAMES,
    setHostnameAsFQDN: HOST_NAMES,
    subdomain: HOST_NAMES,
    dnsPolicy: ignored('names are resolved as everywhere on the machine'),
    enableServiceLinks: ignored('no variables of Services are given'),
    imagePullSecrets: ignored('images are in the image store already'),
    readinessGates: refused('drop it: readiness is what the probes find'),
    shareProcessNamespace: ignored('processes of one user see one another anyway'),
  },
  PodSecurityContext: {
    ...RUN_AS,
    fsGroup: refused(OWN_USER, 'the group that the pod runs as anyway', isOwnGroup),
    fsGroupChangePolicy: ignored('volumes belong to the user of the pod'),
    supplementalGroups: refused(OWN_USER),
    supplementalGroupsPolicy: ignored('there are no supplemental groups'),
    seLinuxChangePolicy: ignored('volumes have no labels'),
    sysctls: refused('set it on the machine, or run it on a cluster'),
  },
  PodDNSConfig: {
    nameservers: refused('configure the resolver of the machine, or run it on a cluster'),
    searches: ignored('names are resolved as everywhere on the machine'),
    options: ignored('names are resolved as everywhere on the machine'),
  },
  Volume: {
    name: honoured('named in messages'),
    emptyDir: refused(
      NO_VOLUMES,
      `${WITH_MOUNTS}; at \`/tmp\` and \`/dev/shm\` elsewhere too, as the folders of the machine; medium Memory at \`/dev/shm\` is 64 MB of memory of each container, and has no effect elsewhere; sizeLimit has none`,
      isMountable,
    ),
    configMap: refused(NO_VOLUMES, WITH_MOUNTS, isMountable),
    secret: refused(NO_VOLUMES, WITH_MOUNTS, isMountable),
    downwardAPI: refused(NO_VOLUMES, `${WITH_MOUNTS}; fields of metadata and names`, isMountable),
    // API servers of clusters add it to every pod; the kubeconfig replaces it
    projected: refused(
      NO_VOLUMES,
      `the token volume that API servers add; configMap, secret and downwardAPI ${WITH_MOUNTS}`,
      (value, user) => isTokenVolume(value) || isMountable(value, user),
    ),
    ...Object.fromEntries(
      [
        'awsElasticBlockStore',
        'azureDisk',
        'azureFile',
        'cephfs',
        'cinder',
        'csi',
        'ephemeral',
        'fc',
        'flexVolume',
        'flocker',
        'gcePersistentDisk',
        'gitRepo',
        'glusterfs',
        'hostPath',
        'image',
        'iscsi',
        'nfs',
        'persistentVolumeClaim',
        'photonPersistentDisk',
        'portworxVolume',
        'quobyte',
        'rbd',
        'scaleIO',
        'storageos',
        'vsphereVolume',
      ].map((type) => [type, { kind: 'refused', instead: NO_VOLUMES, allows: () => false } as const]),
    ),
  },
  Container: {
    name: honoured('in logs, files and messages'),
    image: honoured('a folder of this machine'),
    imagePullPolicy: ignored('images are in the image store already'),
    command: honoured('found by `PATH` of the container (its first 100 folders and 4,096 characters)'),
    args: honoured('with `$(NAME)` expanded'),
    workingDir: honoured('a folder of this machine'),
    env: inside('EnvVar'),
    envFrom: honoured('Secrets and ConfigMaps'),
    ports: inside('ContainerPort'),
    resources: inside('ResourceRequirements'),
    resizePolicy: ignored('a container is not resized'),
    livenessProbe: inside('Probe'),
    readinessProbe: inside('Probe'),
    startupProbe: inside('Probe'),
    lifecycle: inside('Lifecycle'),
    restartPolicy: refused(
      'use restartPolicy of the pod, or a second container',
      '`Always`, which makes an init container a sidecar',
      only('Always'),
    ),
    restartPolicyRules: refused('use restartPolicy of the pod'),
    securityContext: inside('SecurityContext'),
    stdin: ignored('there is nothing to attach to'),
    stdinOnce: ignored('there is nothing to attach to'),
    tty: ignored('there is nothing to attach to'),
    terminationMessagePath: ignored('the file is named in `TERMINATION_MESSAGE_PATH`'),
    terminationMessagePolicy: honoured('`File` and `FallbackToLogsOnError`'),
    volumeDevices: refused(CLUSTER),
    volumeMounts: inside('VolumeMount'),
  },
  VolumeMount: {
    name: honoured('a volume that is not made is refused by its own type'),
    mountPath: honoured(
      'in a root of the container’s own; folders that are missing are made there, not on the machine',
    ),
    subPath: honoured('as in a cluster'),
    subPathExpr: honoured('with `$(NAME)` expanded'),
    readOnly: honoured('volumes of objects are read-only anyway'),
    recursiveReadOnly: refused('drop it', '`Disabled`, `IfPossible`', only('Disabled', 'IfPossible')),
    mountPropagation: refused('drop it, or run it on a cluster', '`None`', only('None')),
  },
  SecurityContext: {
    ...RUN_AS,
    privileged: refused(NOT_ROOT),
    allowPrivilegeEscalation: refused(NOT_ROOT),
    capabilities: inside('Capabilities'),
    procMount: refused('drop it', '`Default`', only('Default')),
    readOnlyRootFilesystem: ignored(
      'processes share the file system of the machine; a user of their own writes only its folder and /tmp',
    ),
  },
  Capabilities: {
    add: refused(NOT_ROOT),
    drop: ignored('a user that is not root has none; a platform started as root gives pods another user'),
  },
  SeccompProfile: {
    type: refused(
      'name RuntimeDefault or Unconfined, or run it on a cluster',
      '`RuntimeDefault` (without effect), `Unconfined`',
      only('RuntimeDefault', 'Unconfined'),
    ),
    localhostProfile: LOCAL_PROFILE,
  },
  AppArmorProfile: {
    type: refused(
      'name RuntimeDefault or Unconfined, or run it on a cluster',
      '`RuntimeDefault` (without effect), `Unconfined`',
      only('RuntimeDefault', 'Unconfined'),
    ),
    localhostProfile: LOCAL_PROFILE,
  },
  ContainerPort: {
    containerPort: honoured('a free port on 127.0.0.1 stands for it'),
    name: honoured('in probes and Services'),
    protocol: refused('use TCP, or run it on a cluster', '`TCP`', only('TCP')),
    hostPort: refused('drop it: the node chooses a free port, and a Service keeps one'),
    hostIP: refused('drop it: ports are on 127.0.0.1'),
  },
  Probe: {
    exec: honoured('in the container’s folder, as its user'),
    httpGet: inside('HTTPGetAction'),
    tcpSocket: honoured('on 127.0.0.1'),
    grpc: refused('use httpGet, tcpSocket or exec'),
    initialDelaySeconds: honoured('as in a cluster'),
    periodSeconds: honoured('as in a cluster'),
    timeoutSeconds: honoured('as in a cluster'),
    successThreshold: honoured('as in a cluster'),
    failureThreshold: honoured('as in a cluster'),
    terminationGracePeriodSeconds: honoured('as in a cluster'),
  },
  HTTPGetAction: {
    path: honoured('as in a cluster'),
    port: honoured('the loopback port of this container port'),
    scheme: honoured('`HTTP` and `HTTPS`'),
    host: refused('drop it: probes ask the container on 127.0.0.1'),
    httpHeaders: refused('drop it, or use exec'),
  },
  Lifecycle: {
    postStart: refused('do it in the command, or in an init container'),
    preStop: refused('do it when SIGTERM comes, or run it on a cluster', '`sleep` (without effect)', isSleep),
    stopSignal: refused('processes are ended by SIGTERM', '`SIGTERM`', only('SIGTERM')),
  },
  ResourceRequirements: {
    requests: SCHEDULER,
    limits: honoured(
      'memory, on Linux: a container that uses more is ended (`OOMKilled`), looked at twice a second, and programs of Node ' +
        'get 0.7 of it as their heap; CPU, by control groups where the platform may make them (the condition CpuLimitsKept of the Node), by a lower priority elsewhere; others are not limited',
    ),
    claims: refused(CLUSTER),
  },
  EnvVar: {
    name: honoured('as in a cluster'),
    value: honoured('with `$(NAME)` expanded'),
    valueFrom: inside('EnvVarSource'),
  },
  EnvVarSource: {
    configMapKeyRef: honoured('as in a cluster'),
    secretKeyRef: honoured('as in a cluster'),
    fieldRef: honoured(
      'fields of metadata, `spec.nodeName`, `spec.serviceAccountName`; addresses are 127.0.0.1',
    ),
    resourceFieldRef: refused('write the value'),
    fileKeyRef: refused('write the value, or use a Secret or ConfigMap'),
  },
};

function jsonName(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'name' in value ? value.name : undefined;
}

/** True when a volume is made, on a machine where mounts are possible. */
function isMountable(value: unknown, { hasMounts = false }: ProcessUser): boolean {
  const { sources = [], items = [] } = value as {
    readonly sources?: readonly Readonly<Record<string, unknown>>[];
    readonly items?: readonly object[];
  };
  const isKnown = (source: Readonly<Record<string, unknown>>): boolean =>
    Object.entries(source).every(
      ([name, part]) =>
        ['configMap', 'secret', 'downwardAPI'].includes(name) &&
        (name !== 'downwardAPI' || isMountable(part, { hasMounts, uid: undefined, gid: undefined })),
    );
  return hasMounts && sources.every(isKnown) && !items.some((item) => 'resourceFieldRef' in item);
}

function isSleep(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).every((name) => name === 'sleep');
}
