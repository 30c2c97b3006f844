// What kube-score would have otherwise, and why it stays. A row that accepts nothing any more fails the check.

/**
 * A finding is accepted when its check is that of a row, its text has the row's, its object is the row's and the values
 * are the row's; what a row leaves out, it accepts for all.
 */
export const ACCEPTED = [
  {
    check: 'container-image-pull-policy',
    reason: 'tags are versions, which do not move; image.pullPolicy chooses otherwise',
  },
  {
    check: 'container-resources',
    text: 'CPU limit is not set',
    reason: 'a limit slows a pod down while its node has CPU to spare; requests share it out',
  },
  {
    check: 'pod-networkpolicy',
    text: 'egress',
    reason: 'databases, object stores and what users name have addresses that the chart does not know',
  },
  {
    check: 'deployment-has-host-podantiaffinity',
    reason: 'topologySpreadConstraints spread pods over nodes and zones, and do not keep a pod from starting',
  },
  {
    check: 'networkpolicy-targets-pod',
    object: 'NetworkPolicy agentplane-export-worker',
    reason: 'the controller makes the pods that it is for',
  },
  {
    check: 'networkpolicy-targets-pod',
    object: 'NetworkPolicy builds',
    reason: 'the controller makes the pods that it is for',
  },
  {
    check: 'service-type',
    values: 'keys-of-ones-own',
    reason: 'these values ask for it',
  },
  {
    check: 'pod-networkpolicy',
    values: 'keys-of-ones-own',
    reason: 'these values turn the policies off',
  },
  {
    check: 'deployment-has-poddisruptionbudget',
    values: 'keys-of-ones-own',
    reason: 'these values turn the budgets off',
  },
  {
    check: 'deployment-replicas',
    values: 'a-trial',
    reason: 'one pod is enough to try it',
  },
  {
    check: 'pod-probes',
    object: 'StatefulSet agentplane-trial-postgres',
    text: 'livenessProbe',
    reason: 'a restart mends nothing that keeps Postgres from answering, and a recovery may take long',
  },
  {
    check: 'container-security-context-user-group-id',
    object: 'StatefulSet agentplane-trial-postgres',
    reason: 'the image of Postgres has its user, 70',
  },
  {
    check: 'statefulset-has-servicename',
    object: 'StatefulSet agentplane-trial-postgres',
    reason: 'one pod is reached by the address of its Service, which a headless one would not have',
  },
  {
    check: 'statefulset-has-poddisruptionbudget',
    object: 'StatefulSet agentplane-trial-postgres',
    reason: 'a budget for one pod would keep its node from being drained',
  },
  {
    check: 'statefulset-has-host-podantiaffinity',
    object: 'StatefulSet agentplane-trial-postgres',
    reason: 'there is one pod',
  },
];
