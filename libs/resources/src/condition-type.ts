/** Condition types of all kinds. `Ready` is only ever computed from the others. */
export const CONDITION = {
  ready: 'Ready',
  /** Exists only while true, on any kind: passes over the object keep failing, and are repeated. */
  reconcileFailing: 'ReconcileFailing',
  // Workspace
  namespaceReady: 'NamespaceReady',
  // Listener
  workloadReady: 'WorkloadReady',
  heartbeatFresh: 'HeartbeatFresh',
  // AgentDeployment
  databaseReady: 'DatabaseReady',
  tracingProjectReady: 'TracingProjectReady',
  revisionReady: 'RevisionReady',
  /** Exists only while true: the newest revision failed after it had taken over, and an earlier one serves again. */
  rolledBack: 'RolledBack',
  /** Exists only while true: the spec has fields that have no effect. */
  fieldsIgnored: 'FieldsIgnored',
  /** Exists only with buildOnPush. */
  pushesFollowed: 'PushesFollowed',
  // AgentRevision
  variablesReady: 'VariablesReady',
  built: 'Built',
  workloadsReady: 'WorkloadsReady',
  /** True on the revision that the Service points to, False on those that it once pointed to. */
  active: 'Active',
  superseded: 'Superseded',
  // BulkExportDestination
  validated: 'Validated',
  /** Exists only while true: it is being deleted, and exports that have not ended use it. */
  inUse: 'InUse',
  // BulkExport, BulkExportRun
  accepted: 'Accepted',
  running: 'Running',
  completed: 'Completed',
  /** Exists only while true. */
  failed: 'Failed',
  // BulkExport with a webhook
  /** Unknown as long as calls are made, False once they are given up. */
  webhookDelivered: 'WebhookDelivered',
} as const;

/** Reasons that programs look at or that several places write. */
export const REASON = {
  ready: 'Ready',
  pending: 'Pending',
  progressing: 'Progressing',
  deleting: 'Deleting',
  suspended: 'Suspended',
  // Workspace
  namespaceMissing: 'NamespaceMissing',
  namespaceTaken: 'NamespaceTaken',
  tenantTaken: 'TenantTaken',
  serviceAccountMissing: 'ServiceAccountMissing',
  // Listener
  unavailable: 'Unavailable',
  noHeartbeat: 'NoHeartbeat',
  placeRefused: 'PlaceRefused',
  computeIdTaken: 'ComputeIdTaken',
  // AgentDeployment
  databaseCreated: 'DatabaseCreated',
  /** The pod of the deployment's own Postgres server is not ready. */
  databaseStarting: 'DatabaseStarting',
  /** The cluster refuses what the deployment's own Postgres server should be. */
  databaseRefused: 'DatabaseRefused',
  projectFound: 'ProjectFound',
  nameTaken: 'NameTaken',
  reservedEnvironment: 'ReservedEnvironment',
  dangerousEnvironment: 'DangerousEnvironment',
  secretMissing: 'SecretMissing',
  /** A Secret is one of the platform's own, or may become one. */
  secretRefused: 'SecretRefused',
  /** A volume is one of the platform's own, or of a kind that the platform gives to no agent. */
  volumeRefused: 'VolumeRefused',
  /** The namespace enforces a Pod Security Standard that the containers do not keep. */
  podSecurityRefused: 'PodSecurityRefused',
  notOurs: 'NotOurs',
  listenerMissing: 'ListenerMissing',
  noRevision: 'NoRevision',
  /** The deployment names no image and no archive yet. */
  awaitingSource: 'AwaitingSource',
  revisionMissing: 'RevisionMissing',
  workspaceMissing: 'WorkspaceMissing',
  noEffect: 'NoEffect',
  upToDate: 'UpToDate',
  pushed: 'Pushed',
  // AgentRevision
  variablesStored: 'VariablesStored',
  image: 'Image',
  awaitingListener: 'AwaitingListener',
  deploying: 'Deploying',
  available: 'Available',
  scaledDown: 'ScaledDown',
  serving: 'Serving',
  replaced: 'Replaced',
  /** The deployment is not in use: it has no pods until it is used. */
  asleep: 'Asleep',
  /** The pods of a deployment that slept are being started. */
  waking: 'Waking',
  /** On the revision that failed while it served: an earlier one serves again. */
  rolledBack: 'RolledBack',
  /** A container of a revision that serves ended, and is started again. */
  crashed: 'Crashed',
  /** No pod of a revision that serves is ready, and none of them says why. */
  notReady: 'NotReady',
  imagePullFailed: 'ImagePullFailed',
  graphLoadFailed: 'GraphLoadFailed',
  crashLoop: 'CrashLoop',
  dependencyUnavailable: 'DependencyUnavailable',
  readinessTimeout: 'ReadinessTimeout',
  invalidWorkload: 'InvalidWorkload',
  podRefused: 'PodRefused',
  newerRevision: 'NewerRevision',
  // AgentRevision that is built
  /** Queued behind other builds. */
  buildQueued: 'BuildQueued',
  awaitingBuild: 'AwaitingBuild',
  building: 'Building',
  buildFailed: 'BuildFailed',
  buildTimedOut: 'BuildTimedOut',
  buildRefused: 'BuildRefused',
  integrationMissing: 'IntegrationMissing',
  repositoryUnavailable: 'RepositoryUnavailable',
  repositoryRefused: 'RepositoryRefused',
  refNotFound: 'RefNotFound',
  // BulkExportDestination
  usable: 'Usable',
  refused: 'Refused',
  credentialsMissing: 'CredentialsMissing',
  unreachable: 'Unreachable',
  inUse: 'InUse',
  // BulkExport that is a schedule
  scheduled: 'Scheduled',
  catchingUp: 'CatchingUp',
  // BulkExport, BulkExportRun
  planNotAllowed: 'PlanNotAllowed',
  destinationMissing: 'DestinationMissing',
  destinationNotReady: 'DestinationNotReady',
  /** While the export was running. */
  destinationDeleted: 'DestinationDeleted',
  projectMissing: 'ProjectMissing',
  // BulkExport that continues another, and its runs
  predecessorMissing: 'PredecessorMissing',
  /** Leftovers of its last attempts in the bucket are still being cleared away. */
  predecessorSettling: 'PredecessorSettling',
  notContinuable: 'NotContinuable',
  alreadyContinued: 'AlreadyContinued',
  /** BulkExport of the late runs of another, and its runs. */
  lateRunsUnknown: 'LateRunsUnknown',
  notSupported: 'NotSupported',
  invalidWindow: 'InvalidWindow',
  invalidFilter: 'InvalidFilter',
  accepted: 'Accepted',
  queued: 'Queued',
  /** Run of an export: the platform has reached its limit of runs at work. */
  awaitingPlace: 'AwaitingPlace',
  waitingForWindow: 'WaitingForWindow',
  started: 'Started',
  retrying: 'Retrying',
  completed: 'Completed',
  runFailed: 'RunFailed',
  attemptFailed: 'AttemptFailed',
  storageFailed: 'StorageFailed',
  runRefused: 'RunRefused',
  timedOut: 'TimedOut',
  cancelled: 'Cancelled',
  // BulkExport with a webhook
  delivered: 'Delivered',
  deliveryPending: 'DeliveryPending',
  deliveryFailed: 'DeliveryFailed',
  // in logs only
  conflict: 'Conflict',
  invalidSpec: 'InvalidSpec',
  unprotected: 'Unprotected',
  startFailed: 'StartFailed',
} as const;

/** Condition of a pod that exists, as False, while its node cannot honour its spec. */
export const POD_SUPPORTED = 'agentplane.dev/Supported';

/** Condition of a pod: whether the scheduler found a node for it. */
export const POD_SCHEDULED = 'PodScheduled';
