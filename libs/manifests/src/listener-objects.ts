import {
  ANNOTATION,
  COMPONENT,
  type Deployment,
  LABEL,
  type Lease,
  type Listener,
  LISTENER_KEY_TYPE,
  listenerKeyName,
  listenerLeaseName,
  listenerObjectName,
  type Role,
  type RoleBinding,
  type Secret,
  type ServiceAccount,
} from '#lib/resources';
import { buildListenerDeployment } from './listener-pod.js';
import { hubRules, type ListenerRevision, LOCAL_RULES } from './listener-rights.js';
import { platformLabels } from './object-labels.js';
import { platformImage, type PlatformSettings } from './platform-settings.js';

/** Account and rights of a Listener. */
export interface ListenerRights {
  readonly serviceAccount: ServiceAccount;
  readonly role: Role;
  readonly roleBinding: RoleBinding;
}

/** Everything that a Listener becomes, all in its own namespace. */
export interface ListenerObjects extends ListenerRights {
  readonly deployment: Deployment;
}

/** Key of the listener's key in its Secret. */
export const LISTENER_KEY = 'key';

/** Secret with the key from which the listener derives the tokens by which it asks pods if they are idle. */
export function buildListenerKey({ metadata }: Listener, key: string): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: listenerKeyName(metadata.name),
      namespace: metadata.namespace,
      labels: listenerLabels(metadata.name),
    },
    type: LISTENER_KEY_TYPE,
    data: { [LISTENER_KEY]: Buffer.from(key, 'utf8').toString('base64') },
  };
}

/** The Lease by which one program of a remote listener works at a time, without a holder. */
export function buildListenerLease({ metadata: { name, namespace } }: Listener): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: listenerLeaseName(name),
      ...(namespace === undefined ? {} : { namespace }),
      labels: listenerLabels(name),
    },
    spec: {},
  };
}

/** Labels of what is made for a Listener. */
export function listenerLabels(listener: string): Readonly<Record<string, string>> {
  return platformLabels(COMPONENT.listener, { [LABEL.listener]: listener });
}

/**
 * The account of a Listener and its rights, in its own namespace: others would need rights that a tenant
 * cannot give.
 * @param revisions revisions that it carries out, which limit the rights of a remote one
 * @param outputs names of the ConfigMaps for their last outputs
 */
export function buildListenerRights(
  listener: Listener,
  revisions: readonly ListenerRevision[] = [],
  outputs: readonly string[] = [],
): ListenerRights {
  const metadata = metadataOf(listener);
  const { name, namespace } = metadata;
  const rules =
    listener.spec.remote === undefined ? LOCAL_RULES : hubRules(listener.metadata.name, revisions, outputs);
  return {
    serviceAccount: { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    role: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules },
    roleBinding: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      subjects: [{ kind: 'ServiceAccount', name, ...(namespace === undefined ? {} : { namespace }) }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    },
  };
}

/**
 * The objects of a Listener that runs in this cluster.
 * @param keyMark changes with the key in its Secret, which its pod reads once
 */
export function buildListenerObjects(
  listener: Listener,
  settings: PlatformSettings,
  keyMark = '',
): ListenerObjects {
  const deployment = listenerDeployment(listener, settings, metadataOf(listener), keyMark);
  return { ...buildListenerRights(listener), deployment };
}

function metadataOf({ metadata: { name, namespace } }: Listener) {
  return { name: listenerObjectName(name), namespace, labels: listenerLabels(name) };
}

function listenerDeployment(
  listener: Listener,
  settings: PlatformSettings,
  metadata: Deployment['metadata'],
  keyMark: string,
): Deployment {
  const { name, namespace = 'default' } = listener.metadata;
  return buildListenerDeployment(listener, {
    metadata,
    settings,
    image: platformImage('listener', settings),
    apiUrl: settings.apiUrl,
    namespaces: [namespace],
    idleKey: { secret: listenerKeyName(name), key: LISTENER_KEY },
    annotations: { [ANNOTATION.listenerKey]: keyMark },
  });
}
