import type { CertificateFiles, StoreCredentials } from '#lib/data-folder';

/** The roles of the platform's own programs, with the connections that are kept for each: it may have no more. */
export const PLATFORM_ROLES = { agentplane: 60, deployments: 5, kube: 10 } as const;

/** Connection URIs of the databases; all of them are secret. */
export interface DatabaseUris {
  readonly databaseUri: string;
  readonly databaseAdminUri: string;
  /** Undefined with a cluster of one's own. */
  readonly kubeDatabaseUri: string | undefined;
}

/** The key that `credentials.json` holds. */
export interface FirstKey {
  readonly key: string;
  /** Keys of the whole workspace that an earlier `credentials.json` held and that still work; only beside a new key. */
  readonly older: readonly OlderKey[];
}

export interface OlderKey {
  readonly id: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/**
 * Tasks that are done once, between the starts of the programs. Inputs and answers are plain data: they cross
 * a channel.
 */
export interface PreparationTasks {
  /** Roles and databases of the platform. */
  databases(input: {
    readonly dataDir: string;
    readonly port: number;
    readonly hasOwnCluster: boolean;
  }): Promise<DatabaseUris>;
  /**
   * The key of the embedded store's operator, in the file of its users.
   * @param input.knownKey the key that an earlier start used; one of a time before there were users had every right and
   * stood in Secrets of workspaces, and opens nothing any more
   */
  storeOperator(input: {
    readonly users: string;
    readonly knownKey: string | undefined;
  }): Promise<Pick<StoreCredentials, 'accessKeyId' | 'secretAccessKey'>>;
  /** The key that the api keeps attachments of runs with. */
  attachmentKeys(input: {
    readonly users: string;
  }): Promise<Pick<StoreCredentials, 'accessKeyId' | 'secretAccessKey'>>;
  /** The platform's own certificate, for these names. */
  certificate(input: { readonly files: CertificateFiles; readonly names: readonly string[] }): Promise<null>;
  /** Takes the sample agent into the image store. */
  sampleAgent(input: { readonly images: string; readonly installation: string }): Promise<null>;
  /** The schema of the trace store, and the first key of the first workspace: the known one while it is good. */
  apiKey(input: {
    readonly databaseUri: string;
    readonly tenantId: string;
    readonly knownKey: string | undefined;
  }): Promise<FirstKey>;
  /** Kinds, rights, the first workspace (answers its tenant) and a kubeconfig for each of the accounts. */
  cluster(input: {
    readonly kubeconfigPath: string;
    readonly installation: string;
    readonly tenantId: string;
    /** Path of the kubeconfig to write, by service account. */
    readonly accounts: Readonly<Record<string, string>>;
  }): Promise<string>;
  /** Listener and destination of the first workspace; waits until both work. Answers what of tenants could not be prepared. */
  workspace(input: {
    readonly kubeconfigPath: string;
    readonly store: StoreCredentials;
    readonly users: string;
  }): Promise<readonly string[]>;
}

export type TaskName = keyof PreparationTasks;
export type TaskInput<K extends TaskName> = Parameters<PreparationTasks[K]>[0];
export type TaskAnswer<K extends TaskName> = Awaited<ReturnType<PreparationTasks[K]>>;

/** Supervisor to preparation. */
export interface TaskCall {
  readonly call: number;
  readonly task: TaskName;
  readonly input: unknown;
}

/** Preparation to supervisor. */
export interface TaskReply {
  readonly call: number;
  readonly answer?: unknown;
  /** Reason why it failed, for people. */
  readonly failure?: string;
}
