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
import { hubRules, type ListenerRevision, LOCAL_RULES } from './listener-rights.js';
import { CONTAINER_SECURITY, platformLabels, platformPodSecurity } from './object-labels.js';
import { platformImage, type PlatformSettings } from './platform-settings.js';
import { placementOf } from './pod-placement.js';
import { METRICS_ANNOTATIONS, METRICS_CONTAINER_PORT, telemetryEnvironment } from './pod-telemetry.js';

/** Whom a Listener acts as. */
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

/** From this key the listener derives the tokens by which it asks pods whether they are idle. */
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
 * The account of a Listener and what it may do, in its own namespace: others would need rights that a tenant cannot give.
 * @param revisions those that it carries out, by which the rights of a remote one are bounded
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

/** It mostly waits: threads of glibc would each keep what they have ever needed, and more of what was large. */
export const LISTENER_MEMORY = Object.freeze([
  Object.freeze({ name: 'MALLOC_ARENA_MAX', value: '1' }),
  Object.freeze({ name: 'MALLOC_TRIM_THRESHOLD_', value: '131072' }),
]);

function listenerDeployment(
  listener: Listener,
  settings: PlatformSettings,
  metadata: Deployment['metadata'],
  keyMark: string,
): Deployment {
  const { name, namespace = 'default' } = listener.metadata;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 1,
      revisionHistoryLimit: 1,
      // two listeners at once would only wait for one another's lease
      strategy: { type: 'Recreate' },
      selector: { matchLabels: { [LABEL.listener]: name, [LABEL.component]: COMPONENT.listener } },
      template: {
        metadata: {
          labels: { ...settings.pods?.labels, ...metadata.labels },
          annotations: {
            ...METRICS_ANNOTATIONS,
            ...settings.pods?.annotations,
            [ANNOTATION.listenerKey]: keyMark,
          },
        },
        spec: {
          serviceAccountName: metadata.name,
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          securityContext: platformPodSecurity(settings),
          ...placementOf(settings),
          containers: [
            {
              name: 'listener',
              image: platformImage('listener', settings),
              env: [
                { name: 'AGENTPLANE_LISTENER', value: name },
                { name: 'AGENTPLANE_HOME_NAMESPACE', value: namespace },
                { name: 'AGENTPLANE_NAMESPACES', value: namespace },
                { name: 'AGENTPLANE_API_URL', value: settings.apiUrl },
                { name: 'AGENTPLANE_ADDRESSES', value: settings.addresses },
                ...(settings.agentsNonRoot ? [{ name: 'AGENTPLANE_AGENTS_NON_ROOT', value: 'true' }] : []),
                {
                  name: 'AGENTPLANE_IDENTITY',
                  valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
                },
                {
                  name: 'AGENTPLANE_IDLE_KEY',
                  valueFrom: { secretKeyRef: { name: listenerKeyName(name), key: LISTENER_KEY } },
                },
                ...LISTENER_MEMORY,
                ...telemetryEnvironment(settings),
              ],
              ports: [METRICS_CONTAINER_PORT],
              resources: { requests: { cpu: '50m', memory: '128Mi' } },
              securityContext: CONTAINER_SECURITY,
            },
          ],
        },
      },
    },
  };
}
