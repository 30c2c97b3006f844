import type { Attachments } from './attachment/attachment-table.js';
import type { SourceArchives } from './attachment/source-archives.js';
import type { IngestResult } from './ingestion/ingest-request.js';
import type { PriceApplications } from './repricing/repricing.js';
import type { ModelPrice } from './price/model-price.js';
import type { ModelPrices } from './price/price-table.js';
import type { Lake, LakeDay, LakeOptions } from './sealing/lake.js';
import type { Prompts } from './prompt/prompt-table.js';
import type { PromptCommits } from './prompt/prompt-commit-table.js';
import type { IngestProblems } from './problem/ingest-problem-table.js';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { ApiKeys } from './key/api-key-table.js';
import type { ExportArchive } from './export/export-archive-table.js';
import type { ExportCounts, ExportSource } from './export/export-source.js';
import type { ExportProgress } from './export/export-progress-table.js';
import type { Feedbacks } from './feedback/feedback-table.js';
import type { Examples } from './dataset/example-table.js';
import type { DatasetVersions } from './dataset/dataset-version-table.js';
import type { Datasets } from './dataset/dataset-table.js';
import type { FeedbackConfigs } from './feedback/feedback-config-table.js';
import type { FeedbackTokens } from './feedback/feedback-token-table.js';
import type { Erasures } from './erasure/trace-eraser.js';
import type { Projects } from './project/project-table.js';
import type { RevisionArchive } from './revision/revision-archive-table.js';
import type { Retention } from './retention/retention-table.js';
import type { RunBatch } from './wire/run-operation.js';
import type { RunPage, RunPageOptions, RunSearch } from './query/run-search.js';
import type { Shares } from './share/share-table.js';
import type { StoredRun } from './run/stored-run.js';
import type { TenantRemovals } from './removal/tenant-removal.js';
import type { TenantUse } from './tenant-use.js';
import type { Statistics } from './summary/read-statistics.js';
import type { Threads } from './thread/find-threads.js';
import type { WaitingRoom } from './ingestion/waiting-patches.js';

export interface TraceStoreOptions {
  /** `postgres://…` of the database `agentplane`. */
  readonly uri: string;
  /** Program that opens it, for `pg_stat_activity`. */
  readonly program?: 'api' | 'controller' | 'export-worker' | 'migrate' | 'setup' | 'up';
  /**
   * Maximum number of connections, two for the check of keys not counted; default 8. They are opened on
   * demand and closed when idle.
   */
  readonly poolSize?: number;
  /** Milliseconds after which statements fail while the server answers nothing; see `PoolOptions`. */
  readonly answerMs?: number;
  /** Limits of each tenant's waiting updates; see `WaitingRoom`. */
  readonly waiting?: WaitingRoom;
  /**
   * Maximum number of partitions for times further ahead than a week; the past and the days around today have
   * no such limit. Default 36.
   */
  readonly maxMonthsAhead?: number;
  /** Maximum number of projects of a tenant; absent: any number. */
  readonly maxProjects?: number;
  /** Maximum number of datasets of a tenant; absent: any number. */
  readonly maxDatasets?: number;
  /** Maximum bytes of the datasets of a tenant; default 10 GiB. */
  readonly maxDatasetBytes?: number;
  /**
   * Maximum number of API keys in force of a tenant, those of deployments not counted, and as many that have
   * ended are kept; absent: any number.
   */
  readonly maxApiKeys?: number;
  /** Maximum bytes of the attachments of a tenant; default 10 GiB. */
  readonly maxAttachmentBytes?: number;
  /** Prices that replace those of the platform. */
  readonly modelPrices?: readonly ModelPrice[] | undefined;
  /** Store and times of sealing days that no longer change; absent: they stay in Postgres. */
  readonly lake?: LakeOptions | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

export interface RunOptions {
  /** Hides the runs of every other project. */
  readonly projectId?: string;
  /** True when a run without tokens and costs of its own has those of the calls of models below it. */
  readonly totals?: boolean;
  /** True when it has the ids of the runs below it. */
  readonly children?: boolean;
  /** Callback with the bytes of the payloads before they are read; what it throws is thrown. */
  readonly hold?: (bytes: number) => void;
}

/** Runs of traces, the keys of their senders, and the progress of exports. Owns the database `agentplane`. */
export interface TraceStore {
  /** Brings the schema up to date. Any number of processes may do so at once. */
  migrate(): Promise<void>;
  /**
   * Stores creates and updates of runs; doing it again changes nothing. Visible to others when it resolves.
   * @param onlyProject name of the one project that the sender may write into; runs that name none go there
   * @throws PublicError forbidden for a run of another project; nothing of the batch is stored then
   */
  ingest(tenantId: string, batch: RunBatch, onlyProject?: string): Promise<IngestResult>;
  readonly projects: Projects;
  readonly runs: {
    /** The run with its payloads; undefined also for another tenant's, and for one outside of `projectId`. */
    get(tenantId: string, id: string, options?: RunOptions): Promise<StoredRun | undefined>;
    /**
     * A page of the matching runs.
     * @throws PublicError bad_request when finding them takes longer than a few seconds
     */
    search(tenantId: string, search: RunSearch, page: RunPageOptions): Promise<RunPage>;
  };
  readonly feedback: Feedbacks;
  readonly feedbackTokens: FeedbackTokens;
  readonly feedbackConfigs: FeedbackConfigs;
  readonly statistics: Statistics;
  readonly threads: Threads;
  readonly ingestProblems: IngestProblems;
  readonly erasures: Erasures;
  readonly tenants: TenantRemovals;
  readonly attachments: Attachments;
  readonly sourceArchives: SourceArchives;
  readonly datasets: Datasets;
  readonly datasetVersions: DatasetVersions;
  readonly examples: Examples;
  readonly prompts: Prompts;
  readonly promptCommits: PromptCommits;
  readonly shares: Shares;
  readonly retention: Retention;
  readonly prices: ModelPrices;
  readonly priceApplications: PriceApplications;
  readonly apiKeys: ApiKeys;
  /** Usage of a tenant's limits in this store. */
  use(tenantId: string): Promise<TenantUse>;
  readonly exportCounts: ExportCounts;
  readonly exportProgress: ExportProgress;
  readonly exportArchive: ExportArchive;
  readonly exportSource: ExportSource;
  readonly revisionArchive: RevisionArchive;
  /** Days that are sealed; undefined without the option `lake`. */
  readonly lake: Lake | undefined;
  /** True when payloads of some days are in files, whether or not this store was opened with them. */
  hasSealedDays(): Promise<boolean>;
  /** Estimates of the bytes that Postgres holds of the payloads of days; one for each, in their order. */
  estimatePostgres(tenantId: string, days: readonly LakeDay[]): Promise<readonly number[]>;
  /** Drops updates and attachments that waited too long for their runs, and completes deletions: those that were interrupted, rows of deleted projects, expired runs. To be called periodically, by any number of processes. */
  tidy(): Promise<void>;
  /** Databases of the platform that every role of the server may connect to, by name. */
  openDatabases(): Promise<readonly string[]>;
  /** The database's clock; decisions about rows and windows use this one. */
  databaseTime(): Promise<Date>;
  close(): Promise<void>;
}
