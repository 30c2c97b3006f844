import { type AgentRevision, type PolicyRule, RESOURCES, listenerLeaseName } from '#lib/resources';

const GROUP = RESOURCES.AgentRevision.group;
const READ = ['get', 'list', 'watch'] as const;
const WRITE = ['create', 'patch', 'delete'] as const;

/** Rights of a listener in the cluster where revisions run, without Secrets. */
const WORKLOAD_RULES: readonly PolicyRule[] = [
  { apiGroups: ['apps'], resources: ['deployments'], verbs: [...READ, ...WRITE] },
  { apiGroups: ['apps'], resources: ['replicasets'], verbs: READ },
  // an autoscaler of the user's own has the number of pods of its Deployment
  { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: READ },
  // one pod of an agent with several is evicted at a time
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: [...READ, ...WRITE] },
  // an owner reference that blocks its owner's deletion needs this right where that admission is on
  { apiGroups: ['apps'], resources: ['deployments/finalizers'], verbs: ['update'] },
  { apiGroups: [''], resources: ['services'], verbs: [...READ, ...WRITE] },
  { apiGroups: [''], resources: ['pods'], verbs: READ },
  // the last output of a revision that failed outlives its pods
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
];

const EVENT_RULE: PolicyRule = {
  apiGroups: [''],
  resources: ['events'],
  verbs: ['create', 'patch'],
};

/** Rights of a listener whose resources are in its own cluster; they show it no Secret. */
export const LOCAL_RULES: readonly PolicyRule[] = [
  { apiGroups: [GROUP], resources: ['agentdeployments', 'agentrevisions', 'listeners'], verbs: READ },
  {
    apiGroups: [GROUP],
    resources: ['agentrevisions/status', 'listeners/status'],
    verbs: ['get', 'patch'],
  },
  // an owner reference that blocks its owner's deletion needs this right where that admission is on
  {
    apiGroups: [GROUP],
    resources: ['agentdeployments/finalizers', 'agentrevisions/finalizers'],
    verbs: ['update'],
  },
  ...WORKLOAD_RULES,
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch'] },
  EVENT_RULE,
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: [...READ, 'create', 'patch', 'update'],
  },
];

/** Parts of a revision on which the rights of a remote listener depend. */
export type ListenerRevision = Pick<AgentRevision, 'metadata'> & {
  readonly spec: Pick<AgentRevision['spec'], 'envSecretName' | 'databaseSecretName' | 'platformSecretName'>;
};

/**
 * Rights of a listener of another cluster in this one. It reads deployments and revisions of the workspace;
 * of Secrets it reads those of its own revisions, and it writes their statuses, finalizers and last outputs,
 * and its own heartbeat and lease: everything by name, so that a stolen kubeconfig gives access to no more
 * than that cluster has already, and can bring no code to another one. Kubernetes cannot restrict the names
 * of created objects, so the controller creates the objects that it writes, and makes events of the reports
 * in the status of its Listener.
 * @param outputs names of ConfigMaps for last outputs that belong to these revisions
 */
export function hubRules(
  listener: string,
  revisions: readonly ListenerRevision[],
  outputs: readonly string[],
): readonly PolicyRule[] {
  const names = sorted(revisions.map(({ metadata }) => metadata.name));
  const secrets = sorted(
    revisions.flatMap(({ spec }) => [spec.envSecretName, spec.databaseSecretName, spec.platformSecretName]),
  );
  const ofRevisions: readonly PolicyRule[] = [
    { apiGroups: [GROUP], resources: ['agentrevisions'], resourceNames: names, verbs: ['patch'] },
    {
      apiGroups: [GROUP],
      resources: ['agentrevisions/status'],
      resourceNames: names,
      verbs: ['get', 'patch'],
    },
    { apiGroups: [GROUP], resources: ['agentrevisions/finalizers'], resourceNames: names, verbs: ['update'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: secrets, verbs: ['get'] },
  ];
  const ofOutputs: readonly PolicyRule[] = [
    {
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: sorted(outputs),
      verbs: ['get', 'patch'],
    },
  ];
  return [
    { apiGroups: [GROUP], resources: ['agentdeployments', 'agentrevisions'], verbs: READ },
    {
      apiGroups: [GROUP],
      resources: ['listeners/status'],
      resourceNames: [listener],
      verbs: ['get', 'patch'],
    },
    // a rule with an empty list of names would be one for all names
    ...(names.length === 0 ? [] : ofRevisions),
    ...(outputs.length === 0 ? [] : ofOutputs),
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      resourceNames: [listenerLeaseName(listener)],
      verbs: ['get', 'patch', 'update'],
    },
  ];
}

/**
 * Rights of a listener of another cluster there: workloads, and copies of the Secrets that their pods read.
 */
export const PLACE_RULES: readonly PolicyRule[] = [
  ...WORKLOAD_RULES,
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', ...WRITE] },
];

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
