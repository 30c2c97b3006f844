import {
  COMPONENT,
  type Deployment,
  type EnvironmentVariable,
  LABEL,
  type Listener,
  type PodSpec,
} from '#lib/resources';
import { CONTAINER_SECURITY, platformPodSecurity } from './object-labels.js';
import type { PlatformSettings } from './platform-settings.js';
import { placementOf } from './pod-placement.js';
import { METRICS_ANNOTATIONS, METRICS_CONTAINER_PORT, telemetryEnvironment } from './pod-resources.js';

/** Input for the program of a listener, whichever cluster it runs in. */
export interface ListenerPod {
  readonly metadata: Deployment['metadata'];
  readonly settings: Pick<
    PlatformSettings,
    'addresses' | 'imagePullSecrets' | 'buildPullSecret' | 'agentsNonRoot' | 'pods' | 'tracing'
  >;
  readonly image: string;
  /** URL to which agents send traces and where they verify keys, from the cluster of the program. */
  readonly apiUrl: string;
  /** Namespaces of the program's cluster. */
  readonly namespaces: readonly string[];
  /** The Secret of the key from which tokens for pods are derived, and the key's name in it. */
  readonly idleKey: { readonly secret: string; readonly key: string };
  readonly annotations?: Readonly<Record<string, string>>;
  /** Access to another cluster's API server, which has the resources. */
  readonly hub?: {
    readonly secret: string;
    readonly folder: string;
    readonly environment: readonly EnvironmentVariable[];
  };
}

/** It mostly waits: threads of glibc would each keep what they have ever needed, and more of what was large. */
const MEMORY = Object.freeze([
  Object.freeze({ name: 'MALLOC_ARENA_MAX', value: '1' }),
  Object.freeze({ name: 'MALLOC_TRIM_THRESHOLD_', value: '131072' }),
]);

const PLAIN = {
  container: {
    resources: { requests: { cpu: '50m', memory: '128Mi' } },
    securityContext: CONTAINER_SECURITY,
  },
  mounts: [],
  volumes: [],
};

/** A listener on a cluster: one that hangs is started again within half a minute, and a quota on limits admits it. */
const HARDENED = {
  container: {
    resources: {
      requests: { cpu: '50m', memory: '128Mi', 'ephemeral-storage': '64Mi' },
      limits: { memory: '512Mi', 'ephemeral-storage': '512Mi' },
    },
    securityContext: { ...CONTAINER_SECURITY, readOnlyRootFilesystem: true },
    readinessProbe: { tcpSocket: { port: 'metrics' }, periodSeconds: 5, timeoutSeconds: 5 },
    livenessProbe: {
      httpGet: { path: '/healthz', port: 'metrics' },
      initialDelaySeconds: 30,
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 3,
    },
    terminationMessagePolicy: 'FallbackToLogsOnError',
  },
  mounts: [{ name: 'tmp', mountPath: '/tmp' }],
  volumes: [{ name: 'tmp', emptyDir: {} }],
} as const;

/** The Deployment of a listener's program. */
export function buildListenerDeployment(listener: Listener, pod: ListenerPod): Deployment {
  const { metadata, settings, annotations } = pod;
  const labels = metadata.labels ?? {};
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 1,
      revisionHistoryLimit: 1,
      // two listeners at once would only wait for one another's lease
      strategy: { type: 'Recreate' },
      selector: {
        matchLabels: { [LABEL.listener]: listener.metadata.name, [LABEL.component]: COMPONENT.listener },
      },
      template: {
        metadata: {
          labels: { ...settings.pods?.labels, ...labels },
          annotations: { ...METRICS_ANNOTATIONS, ...settings.pods?.annotations, ...annotations },
        },
        spec: podOf(listener, pod),
      },
    },
  };
}

function podOf(listener: Listener, pod: ListenerPod): PodSpec {
  const { metadata, settings, image, hub } = pod;
  const hardened = settings.addresses === 'cluster-dns' ? HARDENED : PLAIN;
  const mounts = [
    ...hardened.mounts,
    ...(hub ? [{ name: 'hub', mountPath: hub.folder, readOnly: true }] : []),
  ];
  const volumes = [
    ...hardened.volumes,
    ...(hub ? [{ name: 'hub', secret: { secretName: hub.secret } }] : []),
  ];
  return {
    serviceAccountName: metadata.name,
    automountServiceAccountToken: true,
    enableServiceLinks: false,
    securityContext: platformPodSecurity(settings),
    ...placementOf(settings),
    ...(volumes.length > 0 ? { volumes } : {}),
    containers: [
      {
        name: 'listener',
        image,
        env: environmentOf(listener, pod),
        ports: [METRICS_CONTAINER_PORT],
        ...hardened.container,
        ...(mounts.length > 0 ? { volumeMounts: mounts } : {}),
      },
    ],
  };
}

function environmentOf(
  { metadata: { name, namespace = 'default' } }: Listener,
  { settings, apiUrl, namespaces, idleKey, hub }: ListenerPod,
): EnvironmentVariable[] {
  return [
    { name: 'AGENTPLANE_LISTENER', value: name },
    { name: 'AGENTPLANE_HOME_NAMESPACE', value: namespace },
    { name: 'AGENTPLANE_NAMESPACES', value: namespaces.join(',') },
    ...(hub?.environment ?? []),
    { name: 'AGENTPLANE_API_URL', value: apiUrl },
    { name: 'AGENTPLANE_ADDRESSES', value: settings.addresses },
    ...(settings.agentsNonRoot ? [{ name: 'AGENTPLANE_AGENTS_NON_ROOT', value: 'true' }] : []),
    ...(settings.buildPullSecret === undefined
      ? []
      : [{ name: 'AGENTPLANE_BUILD_PULL_SECRET', value: settings.buildPullSecret }]),
    { name: 'AGENTPLANE_IDENTITY', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    {
      name: 'AGENTPLANE_IDLE_KEY',
      valueFrom: { secretKeyRef: { name: idleKey.secret, key: idleKey.key } },
    },
    ...MEMORY,
    ...telemetryEnvironment(settings),
  ];
}
