import { choice, type Config, integer, list, optionalText, text } from '#lib/config';

/** Settings of the embedded servers. */
export const CONFIG = {
  dataFolder: text('AGENTPLANE_DATA', 'data folder of the platform'),
  installation: text('AGENTPLANE_INSTALLATION', 'where this installation lies'),
  kubeDatabaseUri: optionalText(
    'AGENTPLANE_KUBE_DATABASE_URI',
    'database of the API server; missing with a cluster of one’s own',
    {
      secret: true,
    },
  ),
  kubePort: integer('AGENTPLANE_KUBE_PORT', 'port of the API server', { fallback: 0, max: 65_535 }),
  kubeconfigPath: optionalText('KUBECONFIG', 'kubeconfig of a cluster of one’s own'),
  podUsers: text(
    'AGENTPLANE_POD_USERS',
    'numbers of users for pods where the platform is root, FIRST-LAST with commas between ranges, used up in this order; none: pods run as root',
    { fallback: '60706-61183,1900000000-1999999999' },
  ),
  spares: integer(
    'AGENTPLANE_SPARES',
    'processes that each workspace with JavaScript agents keeps loaded, of 90 MB each; a start of a pod becomes one of them; 0 for none',
    { fallback: 1, max: 16 },
  ),
  namespaceQuota: list(
    'AGENTPLANE_NAMESPACE_QUOTA',
    'what one workspace may hold, NAME=NUMBER with commas between, in place of the defaults of these names: objects (of one kind), megabytes, ports, pods (that have not ended), count/pods, requests.cpu, requests.memory, or a kind as PLURAL.GROUP',
    { fallback: [] },
  ),
  nodePort: integer('AGENTPLANE_NODE_PORT', 'port of the node’s log endpoint', { fallback: 0, max: 65_535 }),
  storePort: integer('AGENTPLANE_OBJECT_STORE_PORT', 'port of the object store', {
    fallback: 0,
    max: 65_535,
  }),
  storeRegion: text('AGENTPLANE_OBJECT_STORE_REGION', 'region that the object store names', {
    fallback: 'us-east-1',
  }),
  storeBucket: text('AGENTPLANE_OBJECT_STORE_BUCKET', 'bucket that exists from the start', {
    fallback: 'agentplane',
  }),
  attachmentBucket: optionalText(
    'AGENTPLANE_ATTACHMENT_BUCKET',
    'one more bucket that exists from the start, for attachments of runs; absent: none',
  ),
  auditLog: optionalText(
    'AGENTPLANE_AUDIT_LOG',
    'file of the audit log of the API server, rotated; absent: no audit log',
  ),
  logLevel: choice('AGENTPLANE_LOG_LEVEL', 'what is logged', ['debug', 'info', 'warn', 'error'], {
    fallback: 'info',
  }),
};

export type EmbeddedConfig = Config<typeof CONFIG>;
