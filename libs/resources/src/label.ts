/** Prefix of the platform's own labels and annotations. */
export const PLATFORM_PREFIX = 'agentplane.dev/';

/** Labels; values are metadata names unless said otherwise. */
export const LABEL = {
  deployment: 'agentplane.dev/deployment',
  revision: 'agentplane.dev/revision',
  listener: 'agentplane.dev/listener',
  export: 'agentplane.dev/export',
  exportRun: 'agentplane.dev/export-run',
  /** On an export: the schedule that made it. */
  sourceExport: 'agentplane.dev/source-export',
  /** Namespace of the resource that an object in the system namespace belongs to. */
  exportNamespace: 'agentplane.dev/export-namespace',
  /** On the Job of the worker that seals days. */
  sealing: 'agentplane.dev/sealing',
  /** Number of the attempt. */
  attempt: 'agentplane.dev/attempt',
  workspace: 'agentplane.dev/workspace',
  /** Id of the tenant. */
  tenant: 'agentplane.dev/tenant',
  /** Uid of the object in another namespace or cluster that this one was made for. */
  owner: 'agentplane.dev/owner',
  /** On a Postgres server, its pod and its Service: the deployment whose database it has. They are none of its pods. */
  databaseOf: 'agentplane.dev/database-of',
  /** Namespace of the revision that an object in the namespace of builds belongs to. */
  revisionNamespace: 'agentplane.dev/revision-namespace',
  managedBy: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  /** On a node: `process` where pods run as processes. */
  runtime: 'agentplane.dev/runtime',
} as const;

/** Values of `LABEL.component` that selectors name. */
export const COMPONENT = {
  /** The agent server that answers HTTP: the only pods of a revision that its Service may reach. */
  agentApi: 'agent-api',
  /** The agent server that takes runs, of revisions that ask for one of its own. */
  agentQueue: 'agent-queue',
  /** The Postgres server of one deployment. */
  agentDatabase: 'agent-database',
  listener: 'listener',
  /** Builds a revision from git. */
  builder: 'builder',
} as const;

/** Value of `LABEL.managedBy`. */
export const MANAGED_BY = 'agentplane';

export const ANNOTATION = {
  /** The id on the wire; the object's uid where absent. */
  id: 'agentplane.dev/id',
  /** On a Node: its runtime cordoned it as it stopped, and takes that back as it starts. */
  cordoned: 'agentplane.dev/cordoned',
  /** On a pod: JSON, container port → real port on loopback. */
  loopbackPorts: 'agentplane.dev/loopback-ports',
  /** On a Service: the real port when it has one, else JSON, port → real port. */
  loopbackPort: 'agentplane.dev/loopback-port',
  /** On the ConfigMap with the last output of a revision: the pod that printed it. */
  pod: 'agentplane.dev/pod',
  /** On a revision: hash of what it was made from. */
  revisionHash: 'agentplane.dev/revision-hash',
  /** On an applied object: hash of the configuration that was applied last. */
  applied: 'agentplane.dev/applied',
  /** On a deployment, or a continuation of an export, that was requested with an idempotency key: hash of the key. */
  requestKey: 'agentplane.dev/request-key',
  /** On an export or a deployment that was requested with an idempotency key: hash of the request. */
  requestHash: 'agentplane.dev/request-hash',
  /** On an export: name of the Secret that was made for its webhook, which goes with it. */
  webhookSecret: 'agentplane.dev/webhook-secret',
  /**
   * On the Job of an export's attempt: JSON, name and uid of the runs that its worker takes one after the
   * other afterwards.
   */
  followingRuns: 'agentplane.dev/following-runs',
  /** On a destination: another value asks for another test. */
  testRequest: 'agentplane.dev/test-request',
  /** On a destination: NAME@TIME of Secrets that it had before, which are deleted once nothing needs them. */
  formerCredentials: 'agentplane.dev/former-credentials',
  /** On what was created by REST with words of LangSmith's clients: JSON, member → word. Answers repeat them. */
  words: 'agentplane.dev/words',
  /** On a deployment: its name for people, by REST. */
  displayName: 'agentplane.dev/display-name',
  /** On a deployment: JSON, list of NAME:VERSION that a client of REST noted. */
  trackedPackages: 'agentplane.dev/tracked-packages',
  /** On a deployment: names of variables that a client of REST sent and that it cannot have, separated by commas. */
  leftOutVariables: 'agentplane.dev/left-out-variables',
  /** On a deployment: JSON, requested revisions that were never created because another was requested first. */
  supersededRevisions: 'agentplane.dev/superseded-revisions',
  /** On a deployment, the Secret of its database and its pods: changes when the URI of the database does. */
  database: 'agentplane.dev/database',
  /** On a deployment and pods: REVISION@TIME; another value replaces the pods of that revision, and changes nothing else. */
  restart: 'agentplane.dev/restart',
  /** On a deployment: which push its git host announced last; another value asks for a look at the branch. */
  pushHeard: 'agentplane.dev/push-heard',
  /** On the Service of a deployment that sleeps, or is about to or wakes up: JSON, a `SleepNote`. Requests wait. */
  sleep: 'agentplane.dev/sleep',
  /** On a Service, by what holds a request: `since` of the sleep that the request ends. */
  wake: 'agentplane.dev/wake',
  /** On the pod of a listener: hash of its key, so that another key starts it again. */
  listenerKey: 'agentplane.dev/listener-key',
  /** On the Secret of a deployment's database: its connections, where the server has fewer than were asked for. */
  databaseConnections: 'agentplane.dev/database-connections',
  /** On the Secret of a deployment's database: when its password replaced another, RFC 3339. */
  passwordAt: 'agentplane.dev/password-at',
  /** On an object that was copied from another installation: the uid of the namespace `kube-system` there. */
  copiedFrom: 'agentplane.dev/copied-from',
  /** On a BulkExportDestination: `true` where exports that use it do not keep it from being deleted. */
  forceDeletion: 'agentplane.dev/force-deletion',
  /** On a Workspace: it is being copied, so what belongs to it may be missing. */
  copying: 'agentplane.dev/copying',
} as const;

export const FINALIZER = {
  deployment: 'agentplane.dev/deployment',
  workspace: 'agentplane.dev/workspace',
  exportRun: 'agentplane.dev/export-run',
  /** On destinations, which exports may still use. */
  destination: 'agentplane.dev/destination',
  /** On an export: the schedule that made it. */
  sourceExport: 'agentplane.dev/source-export',
  /** On revisions whose workloads are in another cluster. */
  place: 'agentplane.dev/place',
} as const;

/** Names under which the programs write. */
export const FIELD_MANAGER = {
  api: 'agentplane-api',
  controller: 'agentplane-controller',
  listener: 'agentplane-listener',
  /** Manager of a remote listener's reports on its deployments. */
  reports: 'agentplane-reports',
  /** Field manager of the condition of passes that keep failing, whichever program runs them. */
  failures: 'agentplane-failures',
  /** Manager of `replicas` of a Deployment between the listener and an autoscaler. */
  handover: 'agentplane-handover',
  /** Manager of `status.image` and `Built` of revisions, whichever program finds them out. */
  builder: 'agentplane-builder',
  /** Manager of the state of pushes to branches of deployments. */
  pushes: 'agentplane-pushes',
  /** Manager of the leader's Lease, whichever program holds it. */
  leader: 'agentplane-leader',
  node: 'agentplane-node',
  up: 'agentplane-up',
  /** Manager of the hooks of the chart. */
  setup: 'agentplane-setup',
} as const;
