import {
  COMPONENT,
  type Deployment,
  type KubeObject,
  LABEL,
  type Listener,
  listenerObjectName,
} from '#lib/resources';
import { LISTENER_MEMORY, listenerLabels } from './listener-objects.js';
import { PLACE_RULES } from './listener-rights.js';
import { CONTAINER_SECURITY, platformPodSecurity } from './object-labels.js';
import type { AddressMode } from './address-mode.js';
import { METRICS_ANNOTATIONS, METRICS_CONTAINER_PORT } from './pod-telemetry.js';
import { runtimePlacement } from './runtime-placement.js';

/** What the manifest of a remote listener is made from, beside its Listener. */
export interface RemoteListenerOptions {
  /** How that cluster reaches the one of the resources, as which account. */
  readonly hub: HubAccess;
  /** Of the listener's Secret: tokens are derived from it by which it asks pods whether they are idle. */
  readonly idleKey: string;
  readonly image: string;
  readonly imagePullSecrets?: readonly string[];
  readonly addresses: AddressMode;
}

/** How a program reaches the API server of the hub, and as whom. */
export interface HubAccess {
  readonly server: string;
  /** PEM. */
  readonly ca?: string | undefined;
  /** Whose name the server's certificate has, where it is another than that of `server`. */
  readonly tlsServerName?: string | undefined;
  readonly token: string;
}

/** Where the Secret of the hub is mounted. */
const HUB_FOLDER = '/etc/agentplane/hub';
const KUBECONFIG = 'kubeconfig';
const TOKEN = 'token';
const IDLE_KEY = 'idle-key';

/** Namespaces of the other cluster in which a remote listener works; its program is in the first. */
export function placeNamespaces({ spec, metadata }: Listener): readonly [string, ...string[]] {
  const [first = metadata.namespace ?? 'default', ...others] = spec.namespaces ?? [];
  return [first, ...others];
}

/** Namespaces in which deployments of a listener may run. */
export function runNamespaces(listener: Listener): readonly string[] {
  return listener.spec.remote === undefined ? [listener.metadata.namespace ?? ''] : placeNamespaces(listener);
}

/**
 * A kubeconfig of the hub for a remote listener.
 * @param tokenFile beside the kubeconfig; the token is inside when absent
 */
export function buildHubKubeconfig(listener: Listener, access: HubAccess, tokenFile?: string): object {
  const { server, ca, tlsServerName, token } = access;
  const { namespace = '', name } = listener.metadata;
  const user = listenerObjectName(name);
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'hub',
        cluster: {
          server,
          ...(ca === undefined ? {} : { 'certificate-authority-data': base64(ca) }),
          ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
        },
      },
    ],
    users: [{ name: user, user: tokenFile === undefined ? { token } : { tokenFile } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user, namespace } }],
    'current-context': 'hub',
  };
}

/**
 * Everything that runs a remote listener in its own cluster: namespaces, an account with rights in these alone, the Secret
 * by which it reaches the hub, its program. Applied again it renews the token, which the program reads anew every minute.
 */
export function buildRemoteListener(
  listener: Listener,
  options: RemoteListenerOptions,
): readonly KubeObject[] {
  const namespaces = placeNamespaces(listener);
  const [home] = namespaces;
  const name = listenerObjectName(listener.metadata.name);
  const labels = listenerLabels(listener.metadata.name);
  const metadata = { name, namespace: home, labels };
  const rbac = 'rbac.authorization.k8s.io';
  const rights = namespaces.flatMap((namespace) => [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata: { name, namespace, labels },
      rules: PLACE_RULES,
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name, namespace, labels },
      subjects: [{ kind: 'ServiceAccount', name, namespace: home }],
      roleRef: { apiGroup: rbac, kind: 'Role', name },
    },
  ]);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, name: `${name}-hub` },
    type: 'Opaque',
    data: {
      [KUBECONFIG]: base64(JSON.stringify(buildHubKubeconfig(listener, options.hub, TOKEN))),
      [TOKEN]: base64(options.hub.token),
      [IDLE_KEY]: base64(options.idleKey),
    },
  };
  return [
    ...namespaces.map((namespace) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    })),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    ...rights,
    secret,
    programOf(listener, options, metadata, `${name}-hub`),
  ];
}

function programOf(
  listener: Listener,
  options: RemoteListenerOptions,
  metadata: Deployment['metadata'],
  hubSecret: string,
): Deployment {
  const { name, namespace = 'default' } = listener.metadata;
  const labels = metadata.labels ?? {};
  const { imagePullSecrets = [], addresses } = options;
  const env = (variable: string, value: string) => ({ name: variable, value });
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 1,
      revisionHistoryLimit: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: { [LABEL.listener]: name, [LABEL.component]: COMPONENT.listener } },
      template: {
        metadata: { labels, annotations: METRICS_ANNOTATIONS },
        spec: {
          serviceAccountName: metadata.name,
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          securityContext: platformPodSecurity(options),
          ...runtimePlacement({ addresses }),
          ...(imagePullSecrets.length === 0
            ? {}
            : { imagePullSecrets: imagePullSecrets.map((secret) => ({ name: secret })) }),
          volumes: [{ name: 'hub', secret: { secretName: hubSecret } }],
          containers: [
            {
              name: 'listener',
              image: options.image,
              env: [
                env('AGENTPLANE_LISTENER', name),
                env('AGENTPLANE_HOME_NAMESPACE', namespace),
                env('AGENTPLANE_NAMESPACES', placeNamespaces(listener).join(',')),
                env('AGENTPLANE_HUB_KUBECONFIG', `${HUB_FOLDER}/${KUBECONFIG}`),
                env('AGENTPLANE_API_URL', listener.spec.remote?.apiUrl ?? ''),
                env('AGENTPLANE_ADDRESSES', addresses),
                {
                  name: 'AGENTPLANE_IDENTITY',
                  valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
                },
                {
                  name: 'AGENTPLANE_IDLE_KEY',
                  valueFrom: { secretKeyRef: { name: hubSecret, key: IDLE_KEY } },
                },
                ...LISTENER_MEMORY,
              ],
              ports: [METRICS_CONTAINER_PORT],
              resources: { requests: { cpu: '50m', memory: '128Mi' } },
              volumeMounts: [{ name: 'hub', mountPath: HUB_FOLDER, readOnly: true }],
              securityContext: CONTAINER_SECURITY,
            },
          ],
        },
      },
    },
  };
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
