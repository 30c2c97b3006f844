// Generated from crds/ by `npm run generate`. Do not edit.

/** Where pods of agents run on a cluster, for new revisions whose resource spec does not say it: each field of the chart (agents.placement) is replaced by one here, and each here by one of the resource spec. */
export interface AgentPlacement {
  /** Labels that the nodes of the pods must have. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** Taints of nodes that the pods tolerate, as in a pod. */
  readonly tolerations?: readonly Readonly<Record<string, unknown>>[];
  /** Nodes and pods that the pods are put to or kept from, as in a pod. */
  readonly affinity?: Readonly<Record<string, unknown>>;
  /** How the pods spread over nodes and zones, as in a pod. */
  readonly topologySpreadConstraints?: readonly Readonly<Record<string, unknown>>[];
  /** PriorityClass of the pods. */
  readonly priorityClassName?: string;
  /** RuntimeClass of the pods, such as that of a sandbox. */
  readonly runtimeClassName?: string;
}

/** Archive that a revision of source internal_source is built from. */
export interface ArchiveSource {
  /** Path of the archive below /v2 of the platform's REST interface. */
  readonly path: string;
  /** Path of the graph configuration file in the archive. */
  readonly graphConfigPath: string;
  /** Run in the root of the archive; else the lock file decides. */
  readonly installCommand?: string;
  /** Run in the folder of the graph configuration. */
  readonly buildCommand?: string;
}

/** The build from git, written before its Job is made. */
export interface BuildState {
  /** When it got its place. */
  readonly startedAt: string;
}

/** One fact about a resource. */
export interface Condition {
  /** What the condition is about, for example Ready. */
  readonly type: string;
  /** Whether it holds. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase word from a documented list. */
  readonly reason: string;
  /** What happened, for people. */
  readonly message: string;
  /** When the status last changed. */
  readonly lastTransitionTime: string;
  /** The generation of the spec that the condition speaks about. */
  readonly observedGeneration?: number;
}

/** A container beside the agent's own. */
export interface Container {
  /** Name, unique in the pod. */
  readonly name: string;
  /** Image reference. */
  readonly image: string;
  /** When the image is pulled. */
  readonly imagePullPolicy?: 'Always' | 'Never' | 'IfNotPresent';
  /** Entry point; not run in a shell. */
  readonly command?: readonly string[];
  /** Arguments of the entry point. */
  readonly args?: readonly string[];
  /** Working directory. */
  readonly workingDir?: string;
  /** Environment variables. */
  readonly env?: readonly EnvVar[];
  /** Secrets and ConfigMaps whose keys become environment variables, as in a pod. */
  readonly envFrom?: readonly Readonly<Record<string, unknown>>[];
  /** Requests and limits. */
  readonly resources?: ResourceRequirements;
  /** Volumes inside this container. */
  readonly volumeMounts?: readonly VolumeMount[];
  /** Security settings, as in a pod. */
  readonly securityContext?: Readonly<Record<string, unknown>>;
  /** Always makes it a sidecar of Kubernetes' own kind, started before the agent and ended after it; OnFailure is refused. */
  readonly restartPolicy?: 'Always' | 'OnFailure';
}

/** The export, FAILED or TIMEDOUT, that this one continues. Its finished files are adopted, wherever they lie under the prefix, and only what is missing is exported. Everything else in spec must be as it is there. */
export interface ContinuedExport {
  /** Id of the export. */
  readonly id: string;
}

/** Where the files go. */
export interface DestinationConfig {
  /** Name of the bucket. */
  readonly bucketName: string;
  /** Root of all keys inside the bucket. */
  readonly prefix?: string;
  /** Region, needed for AWS-style buckets. */
  readonly region?: string;
  /** Address of the store, needed for other stores; absent for AWS-style buckets. */
  readonly endpointUrl?: string;
  /** False when the host of endpointUrl already names the bucket. Never a part of object keys. */
  readonly includeBucketInPrefix: boolean;
  /** Encryption that objects are written with, in the words of S3; absent for that of the bucket. */
  readonly serverSideEncryption?: 'AES256' | 'aws:kms' | 'aws:kms:dsse';
  /** Id, ARN or alias of the key for aws:kms and aws:kms:dsse; absent for the default key of the account. */
  readonly kmsKeyId?: string;
  /** Storage class that objects are written with, in the word of the store; absent for its default. */
  readonly storageClass?: string;
  /** Canned ACL that objects are written with, for buckets of another account; absent for none. Public ones are refused. */
  readonly acl?: 'private' | 'bucket-owner-read' | 'bucket-owner-full-control';
  /** ARN of a role of AWS that may write to the bucket. The credentials, or those of the platform, assume it, with the id of the tenant as external id. */
  readonly awsRoleArn?: string;
}

/** What holds for it, the lower of its own limits and those of the platform. */
export interface EffectiveLimits {
  /** Exports that run at the same time; others queue. */
  readonly concurrentExports: number;
  /** Runs of one export at the same time; others queue. */
  readonly concurrentRunsPerExport: number;
  /** How long exports that have ended stay in the API server before they are moved to Postgres. */
  readonly exportHistoryHours: number;
}

/** One environment variable. */
export interface EnvVar {
  /** Name of the variable. */
  readonly name: string;
  /** Its value. */
  readonly value?: string;
  /** Where the value comes from, as in a pod. */
  readonly valueFrom?: Readonly<Record<string, unknown>>;
}

/** Asks a schedule, even a suspended one, for one more export, from the beginning of the window that is open until now. The windows stay as they are. */
export interface ExportRunRequest {
  /** A new id is a new request. */
  readonly id: string;
}

/** A URL that is called with a POST when the export has ended, however. A schedule calls nothing itself; the exports that it makes do. */
export interface ExportWebhook {
  /** What is called, over http or https. Its query is in no message. */
  readonly url: string;
  /** A Secret of the namespace, of the type agentplane.dev/webhook-secret. Its key secret signs every call; several values, separated by commas, sign it each. Where it has a key url, it signs calls of this URL alone. Without a reference calls are not signed; as long as the Secret is missing or another, none is made. */
  readonly secretRef?: LocalObjectReference;
}

/** The window of the whole export. The worker of its last run writes export.json; absent in runs of earlier versions, whose exports have none. */
export interface ExportWindow {
  /** First instant of the window, inclusive. */
  readonly startTime: string;
  /** End of the window, exclusive. */
  readonly endTime: string;
  /** Id of the schedule whose window it is; absent for other exports, and for those that a schedule was asked for. */
  readonly scheduleId?: string;
}

/** Commit that a revision of source git_host is built from. */
export interface GitSource {
  /** https URL of the repository. */
  readonly repoUrl: string;
  /** Branch, or tag as refs/tags/NAME; the default branch when absent. */
  readonly repoRef?: string;
  /** Path of the graph configuration file in the repository. */
  readonly graphConfigPath: string;
  /** Whether the branch was followed when the revision was made. */
  readonly buildOnPush?: boolean;
  /** Id of the git integration. */
  readonly integrationId?: string;
  /** Run in the root of the repository; else the lock file decides. */
  readonly installCommand?: string;
  /** Run in the folder of the graph configuration. */
  readonly buildCommand?: string;
}

/** The export, COMPLETED, whose late runs are exported, those that came or changed after it had begun to read their day. Project, window and filter must be as they are there. */
export interface LateRunsOf {
  /** Id of the export. */
  readonly id: string;
}

/** Settings for the listener; only for external_image. */
export interface ListenerConfig {
  /** Namespace to deploy into; immutable. */
  readonly clusterNamespace?: string;
}

/** Something that a remote listener reported. */
export interface ListenerReport {
  /** Tells reports apart. */
  readonly id: string;
  /** Kind of the object that it is about. */
  readonly kind: 'AgentDeployment' | 'AgentRevision';
  /** Name of that object. */
  readonly name: string;
  /** Its uid. */
  readonly uid: string;
  /** Of the event. */
  readonly type: 'Normal' | 'Warning';
  /** CamelCase word. */
  readonly reason: string;
  /** What happened, for people. */
  readonly message: string;
}

export interface LocalObjectReference {
  /** Name of the object. */
  readonly name: string;
}

/** Requests and limits. */
export interface ResourceRequirements {
  /** The most it may use. */
  readonly limits?: Readonly<Record<string, string>>;
  /** What is set aside for it. */
  readonly requests?: Readonly<Record<string, string>>;
}

/** What the workloads of a deployment get. CPU in cores, memory in MB. */
export interface ResourceSpec {
  /** Fewest replicas. With 0 a deployment that nobody uses goes to sleep (idleSeconds), unless its queue may not (queueMinScale); 1 when unset. */
  readonly minScale?: number;
  /** Most replicas while there is much to do; minScale when unset or below it. Also of the queue, where one is asked for and queueMaxScale is unset. */
  readonly maxScale?: number;
  /** Cores requested for each replica, rounded to one decimal place. */
  readonly cpu?: number;
  /** Most cores of a replica; twice cpu when unset. */
  readonly cpuLimit?: number;
  /** Memory in MB requested for each replica. */
  readonly memoryMb?: number;
  /** Most memory in MB of a replica; twice memoryMb when unset. */
  readonly memoryLimitMb?: number;
  /** Fewest replicas of the queue; minScale when unset. */
  readonly queueMinScale?: number;
  /** Most replicas of the queue while runs wait; maxScale when unset. */
  readonly queueMaxScale?: number;
  /** Cores requested for each replica of the queue; cpu when unset. */
  readonly queueCpu?: number;
  /** Most cores of a replica of the queue; twice queueCpu when unset. */
  readonly queueCpuLimit?: number;
  /** Memory in MB requested for each replica of the queue; memoryMb when unset. */
  readonly queueMemoryMb?: number;
  /** Most memory in MB of a replica of the queue; twice queueMemoryMb when unset. */
  readonly queueMemoryLimitMb?: number;
  /** Do not use; it has no effect. */
  readonly orchestratorCpu?: number;
  /** Do not use; it has no effect. */
  readonly orchestratorCpuLimit?: number;
  /** Do not use; it has no effect. */
  readonly orchestratorMemoryMb?: number;
  /** Do not use; it has no effect. */
  readonly orchestratorMemoryLimitMb?: number;
  /** Do not use; it has no effect. */
  readonly orchestratorMinScale?: number;
  /** Do not use; it has no effect. */
  readonly orchestratorMaxScale?: number;
  /** Do not use; it has no effect. */
  readonly executorCpu?: number;
  /** Do not use; it has no effect. */
  readonly executorCpuLimit?: number;
  /** Do not use; it has no effect. */
  readonly executorMemoryMb?: number;
  /** Do not use; it has no effect. */
  readonly executorMemoryLimitMb?: number;
  /** No effect, since a deployment has no cache of its own. */
  readonly cacheCpu?: number;
  /** No effect, since a deployment has no cache of its own. */
  readonly cacheCpuLimit?: number;
  /** No effect, since a deployment has no cache of its own. */
  readonly cacheMemoryMb?: number;
  /** No effect, since a deployment has no cache of its own. */
  readonly cacheMemoryLimitMb?: number;
  /** Extra labels on created resources; those of the platform win. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Extra annotations on created resources; those of the platform win. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Service account of the pods; must exist in the namespace. */
  readonly serviceAccountName?: string;
  /** Secrets with registry credentials in the same namespace. */
  readonly imagePullSecrets?: readonly LocalObjectReference[];
  /** Labels that the nodes of the pods must have. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** Taints of nodes that the pods tolerate, as in a pod. */
  readonly tolerations?: readonly Readonly<Record<string, unknown>>[];
  /** Nodes and pods that the pods are put to or kept from, as in a pod. */
  readonly affinity?: Readonly<Record<string, unknown>>;
  /** How the pods spread over nodes and zones, as in a pod. */
  readonly topologySpreadConstraints?: readonly Readonly<Record<string, unknown>>[];
  /** PriorityClass of the pods. */
  readonly priorityClassName?: string;
  /** RuntimeClass of the pods, such as that of a sandbox. */
  readonly runtimeClassName?: string;
  /** Volumes of the pod. */
  readonly volumes?: readonly Volume[];
  /** Volumes inside the agent's container. */
  readonly volumeMounts?: readonly VolumeMount[];
  /** Containers that run to completion before the agent starts. */
  readonly initContainers?: readonly Container[];
  /** Containers that run beside the agent. */
  readonly sidecars?: readonly Container[];
  /** Cores requested for the database; any of these asks for a Postgres server of its own, on a cluster. */
  readonly dbCpu?: number;
  /** Most cores of the database; any of these asks for a Postgres server of its own, on a cluster. */
  readonly dbCpuLimit?: number;
  /** Memory in MB requested for the database; any of these asks for a Postgres server of its own, on a cluster. */
  readonly dbMemoryMb?: number;
  /** Most memory in MB of the database; any of these asks for a Postgres server of its own, on a cluster. */
  readonly dbMemoryLimitMb?: number;
  /** Storage of the database in GiB; any of these asks for a Postgres server of its own, on a cluster. */
  readonly dbStorageGi?: number;
  /** Most connections to the database. */
  readonly dbMaxConnections?: number;
}

/** Asks for a new revision. */
export interface RevisionRequest {
  /** Id that the new revision gets. */
  readonly id: string;
  /** When it was asked for. */
  readonly at?: string;
  /** Id of the revision whose snapshot is deployed again. */
  readonly fromRevisionId?: string;
}

/** Runs of the export by state. */
export interface RunCounts {
  /** All runs. */
  readonly total: number;
  /** Runs that wait. */
  readonly created: number;
  /** Runs in progress. */
  readonly running: number;
  /** Runs that are finished. */
  readonly completed: number;
  /** Runs that failed for good. */
  readonly failed: number;
  /** Runs that were cancelled. */
  readonly cancelled: number;
  /** Runs that took too long. */
  readonly timedOut: number;
}

/** Snapshot of the destination. */
export interface RunDestination {
  /** Where the files go. */
  readonly config: DestinationConfig;
  /** Secret with the credentials; absent for those of the platform. */
  readonly credentialsSecretName?: string;
}

export interface SecretReference {
  /** Name of the variable. */
  readonly name: string;
  /** Name of the Secret. */
  readonly secretName: string;
  /** Key in the Secret. */
  readonly secretKey: string;
}

/** What the branch was at when it was looked at last. Only the revision remains once buildOnPush is off. */
export interface SeenPush {
  /** Number of the newest revision then. A later one that was made of the branch counts for more than the look. */
  readonly revision?: number;
  /** The branch, HEAD for the default one. */
  readonly ref?: string;
  /** Id of its commit. */
  readonly commit?: string;
  /** When it was looked at. */
  readonly lookedAt?: string;
}

/** What holds for all revisions. */
export interface SourceConfig {
  /** Id of the git integration; immutable; only for git_host. */
  readonly integrationId?: string;
  /** https URL of the git repository, without a user in it; immutable; only for git_host. */
  readonly repoUrl?: string;
  /** Size of a deployment from git that has no resourceSpec, immutable; no effect for other sources. */
  readonly deploymentType?: 'dev_free' | 'dev' | 'prod';
  /** Builds a revision when repoRef is pushed, which is looked for every minute; not for tags; only for git_host. */
  readonly buildOnPush?: boolean;
  /** URL under which the deployment is reached; only for external_image. */
  readonly customUrl?: string;
  /** What the workloads of a deployment get. CPU in cores, memory in MB. */
  readonly resourceSpec?: ResourceSpec;
  /** Id of the listener; immutable; only for external_image. */
  readonly listenerId?: string;
  /** Settings for the listener; only for external_image. */
  readonly listenerConfig?: ListenerConfig;
  /** Install command of a JavaScript project, run from the root of the repository. */
  readonly installCommand?: string;
  /** Build command of a JavaScript project, run from the folder of the graph configuration. */
  readonly buildCommand?: string;
}

/** The schedule that made this export. It is a link and no ownership; the export stays when the schedule is deleted. */
export interface SourceExport {
  /** Id of the schedule. */
  readonly id: string;
  /** Id of the runRequest that it was made for; absent for a window of the schedule. */
  readonly runRequestId?: string;
}

/** What the next revision is made from. */
export interface SourceRevisionConfig {
  /** A branch, or a tag as refs/tags/NAME; the default branch when absent; only for git_host. */
  readonly repoRef?: string;
  /** Path of the graph configuration file in the repository or the archive, where it is langgraph.json when absent; only for git_host and internal_source. */
  readonly graphConfigPath?: string;
  /** Image reference; for internal_image the name of an image of the platform's own store. A deployment of internal_image waits until it has one. */
  readonly imageUri?: string;
  /** The archive that is built, as the upload URL of the deployment named it; only for internal_source, which waits until it has one. */
  readonly sourceTarballPath?: string;
}

/** The tracing project to export, by name or by id. */
export interface TracingProjectReference {
  /** Name of the project. */
  readonly name?: string;
  /** Id of the project. */
  readonly id?: string;
}

/** A volume; exactly as in a pod, of these kinds. */
export interface Volume {
  /** Name, unique in the pod. */
  readonly name: string;
  /** Keys of a ConfigMap as files. */
  readonly configMap?: Readonly<Record<string, unknown>>;
  /** Keys of a Secret as files. */
  readonly secret?: Readonly<Record<string, unknown>>;
  /** An empty folder that lives as long as the pod. */
  readonly emptyDir?: Readonly<Record<string, unknown>>;
  /** A claimed volume. */
  readonly persistentVolumeClaim?: Readonly<Record<string, unknown>>;
  /** A folder of an NFS server. */
  readonly nfs?: Readonly<Record<string, unknown>>;
  /** Several sources in one folder. */
  readonly projected?: Readonly<Record<string, unknown>>;
  /** Facts about the pod as files. */
  readonly downwardAPI?: Readonly<Record<string, unknown>>;
  /** A volume of a CSI driver. */
  readonly csi?: Readonly<Record<string, unknown>>;
}

/** A volume inside a container. */
export interface VolumeMount {
  /** Name of a volume. */
  readonly name: string;
  /** Where it appears in the container. */
  readonly mountPath: string;
  /** Path inside the volume. */
  readonly subPath?: string;
  /** Path inside the volume, with environment variables expanded. */
  readonly subPathExpr?: string;
  /** How mounts are propagated, as in a pod. */
  readonly mountPropagation?: 'None' | 'HostToContainer' | 'Bidirectional';
  /** Mounts it read-only. */
  readonly readOnly?: boolean;
}

/** How far the calls of spec.webhook came. */
export interface WebhookDelivery {
  /** Calls that were begun. */
  readonly attempts?: number;
  /** When the first one was begun. Calls are given up a day later. */
  readonly firstAttemptAt?: string;
  /** When the newest one was begun. */
  readonly lastAttemptAt?: string;
  /** When the next one is due; absent while one is in progress, and at the end. */
  readonly nextAttemptAt?: string;
  /** Why the newest call that failed did. */
  readonly lastError?: string;
  /** When the receiver accepted a call. */
  readonly deliveredAt?: string;
}

/** Lower limits than those of the platform. */
export interface WorkspaceLimits {
  /** Exports that run at the same time; others queue. */
  readonly concurrentExports?: number;
  /** How long exports that have ended stay in the API server before they are moved to Postgres, where REST still finds them; no longer than the platform keeps them. */
  readonly exportHistoryHours?: number;
  /** Runs of one export at the same time; others queue. */
  readonly concurrentRunsPerExport?: number;
}

/** How long runs of traces are kept after they began, by the tier of their trace. Absent: for good. It holds for runs that are stored already, too; those without a tier count as longlived. */
export interface WorkspaceRetention {
  /** Days of 24 hours that shortlived traces are kept; 0 for good. */
  readonly shortlivedDays: number;
  /** Days of 24 hours that longlived traces, and with them all, are kept; 0 for good. */
  readonly longlivedDays: number;
  /** The tier of new traces whose sender and tracing project name none. */
  readonly defaultTier: 'longlived' | 'shortlived';
}
