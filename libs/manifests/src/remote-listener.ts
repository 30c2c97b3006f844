import { type Deployment, type KubeObject, type Listener, listenerObjectName } from '#lib/resources';
import type { AddressMode } from './pod-placement.js';
import { listenerLabels } from './listener-objects.js';
import { buildListenerDeployment } from './listener-pod.js';
import { PLACE_RULES } from './listener-rights.js';

/** Input for the manifest of a remote listener, beside its Listener. */
export interface RemoteListenerOptions {
  /** Access from that cluster to the one of the resources, and the account for it. */
  readonly hub: HubAccess;
  /**
   * Key in the listener's Secret: from it the tokens are derived with which it asks pods if they are idle.
   */
  readonly idleKey: string;
  readonly image: string;
  readonly imagePullSecrets?: readonly string[];
  readonly addresses: AddressMode;
  /** True when pods of agents there must not run as root. */
  readonly agentsNonRoot?: boolean;
  /** Variables of OpenTelemetry for the program and for pods of agents, by name. */
  readonly tracing?: Readonly<Record<string, string>>;
}

/** Access of a program to the API server of the hub, and its account there. */
export interface HubAccess {
  readonly server: string;
  /** PEM. */
  readonly ca?: string | undefined;
  /** Name in the server's certificate, where it differs from that of `server`. */
  readonly tlsServerName?: string | undefined;
  readonly token: string;
}

/** Folder in which the Secret of the hub is mounted. */
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
  { image, addresses, agentsNonRoot = false, tracing = {}, imagePullSecrets = [] }: RemoteListenerOptions,
  metadata: Deployment['metadata'],
  hubSecret: string,
): Deployment {
  return buildListenerDeployment(listener, {
    metadata,
    image,
    settings: { addresses, agentsNonRoot, tracing, imagePullSecrets },
    apiUrl: listener.spec.remote?.apiUrl ?? '',
    namespaces: placeNamespaces(listener),
    idleKey: { secret: hubSecret, key: IDLE_KEY },
    hub: {
      secret: hubSecret,
      folder: HUB_FOLDER,
      environment: [{ name: 'AGENTPLANE_HUB_KUBECONFIG', value: `${HUB_FOLDER}/${KUBECONFIG}` }],
    },
  });
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
