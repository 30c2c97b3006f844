import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Admission } from '#lib/admission';
import { TokenBuckets, WrongKeys } from '#lib/http';
import { Informers, KubeClient } from '#lib/kube';
import { provided, type Token } from '#lib/nest';
import { webhookGuard } from '#lib/outbound';
import { RESOURCES } from '#lib/resources';
import { AttachmentIntake } from './attachment/attachment-intake.js';
import { AttachmentKeeper } from './attachment/attachment-keeper.js';
import { AttachmentTidying } from './attachment/attachment-tidying.js';
import { AttachmentUrls } from './attachment/attachment-urls.js';
import { BulkExportsController } from './bulk-export/bulk-exports-controller.js';
import { BulkExports } from './bulk-export/bulk-exports.js';
import { Destinations } from './bulk-export/destinations.js';
import { ExportWebhooks } from './bulk-export/export-webhooks.js';
import { CatalogueController } from './catalogue/catalogue-controller.js';
import { ExportTables } from './catalogue/export-tables.js';
import { SealedTables } from './catalogue/sealed-tables.js';
import { AnswerBudget } from './core/answer-budget.js';
import { type ApiParts, coreNames, coreProviders } from './core/api-parts.js';
import { API_CONFIG, ATTACHMENT_STORE, CLOCK, HOMES, LOG, TRACE_STORE } from './core/tokens.js';
import { DatasetRequests } from './dataset/dataset-requests.js';
import { DatasetsController, DatasetVersionsController } from './dataset/datasets-controller.js';
import { ExampleLists } from './dataset/example-lists.js';
import { ExampleUploads } from './dataset/example-uploads.js';
import { ExamplesController, ExampleUploadsController } from './dataset/examples-controller.js';
import {
  ExperimentRunsController,
  SelectedExperimentRunsController,
} from './dataset/experiment-runs-controller.js';
import { ExperimentRuns } from './dataset/experiment-runs.js';
import { DeploymentEvents, EventsController } from './deployment-event/events-controller.js';
import { LogEntries, LogEntriesController } from './deployment-log/log-entries-controller.js';
import { DeploymentLogs, LogPlaces, LogsController } from './deployment-log/logs-controller.js';
import { ArchivesController } from './deployment/archives-controller.js';
import { DeploymentRevisions } from './deployment/deployment-revisions.js';
import { DeploymentsController } from './deployment/deployments-controller.js';
import { type DeploymentRules, Deployments } from './deployment/deployments.js';
import { Integrations, IntegrationsController } from './deployment/integrations-controller.js';
import { PushHooks, PushHooksController } from './deployment/push-hooks-controller.js';
import { RevisionHistory } from './deployment/revision-history.js';
import { UploadedArchives } from './deployment/source-archives.js';
import { ExplorerController } from './explorer/explorer-controller.js';
import { FeedbackConfigsController, FeedbackConfigurations } from './feedback/feedback-configs-controller.js';
import { FeedbackController } from './feedback/feedback-controller.js';
import { Feedback } from './feedback/feedback.js';
import { PresignedController } from './feedback/presigned-controller.js';
import { PresignedFeedback } from './feedback/presigned-feedback.js';
import { Keys, KeysController } from './key/keys-controller.js';
import { LakeController } from './lake/lake-controller.js';
import { Listeners, ListenersController } from './listener/listeners-controller.js';
import { OtlpController } from './otlp/otlp-controller.js';
import { SpanIngestion } from './otlp/span-ingestion.js';
import { AgentCalls } from './page/agent-calls.js';
import { DatasetPagesController } from './page/dataset-pages-controller.js';
import { DeploymentPagesController } from './page/deployment-pages-controller.js';
import { ExportPagesController } from './page/export-pages-controller.js';
import { PageReaders } from './page/page-readers.js';
import { PageSessions } from './page/page-sessions.js';
import { PagesController } from './page/pages-controller.js';
import { SignInController } from './page/sign-in-controller.js';
import { TalkController } from './page/talk-controller.js';
import { PriceApplications, PriceApplicationsController } from './price/applications-controller.js';
import { PricesController } from './price/prices-controller.js';
import { Prices } from './price/prices.js';
import {
  PromptCommitsController,
  PromptLikesController,
  PromptsController,
  SettingsController,
} from './prompt/prompts-controller.js';
import { Prompts } from './prompt/prompts.js';
import { AgentRoutes, routePlaceOf } from './route/agent-routes.js';
import { PublicController } from './share/public-controller.js';
import { SelectedPublicController, SelectedSharesController } from './share/selected-shares-controller.js';
import { SharedRuns } from './share/shared-runs.js';
import { SharesController } from './share/shares-controller.js';
import { Statistics, StatisticsController } from './statistics/statistics-controller.js';
import { AuthController, KEY_RING, openKeyRing } from './tenancy/key-ring.js';
import { openWorkspaces, Workspaces } from './tenancy/workspaces.js';
import { RunGroupsController, ThreadsController } from './thread/threads-controller.js';
import { Threads } from './thread/threads.js';
import { AttachmentsController } from './trace/attachments-controller.js';
import { TRACE_BODIES } from './trace/held-body.js';
import { InfoController } from './trace/info-controller.js';
import { IngestProblemsController } from './trace/ingest-problems-controller.js';
import { RetentionSync } from './trace/retention-sync.js';
import { RunSearches } from './trace/run-searches.js';
import { RunsController } from './trace/runs-controller.js';
import { RunsQueryController, SelectedRunsController } from './trace/runs-query-controller.js';
import { SessionsController } from './trace/sessions-controller.js';
import { Tidying } from './trace/tidying.js';
import { TraceIngestion } from './trace/trace-ingestion.js';
import { TracesQueryController } from './trace/traces-query-controller.js';
import { Traces } from './trace/traces.js';
import { WarningsController } from './trace/warnings-controller.js';
import { OpenApiController } from './wire/openapi.js';
import { WorkspaceReader, WorkspacesController } from './workspace/workspaces-controller.js';

const CONTROLLERS: NonNullable<DynamicModule['controllers']> = [
  OpenApiController,
  ExplorerController,
  AuthController,
  WorkspacesController,
  KeysController,
  InfoController,
  WarningsController,
  RunsQueryController,
  RunsController,
  SelectedRunsController,
  TracesQueryController,
  SessionsController,
  IngestProblemsController,
  AttachmentsController,
  LakeController,
  SharesController,
  PublicController,
  SelectedSharesController,
  SelectedPublicController,
  SignInController,
  PagesController,
  DeploymentPagesController,
  TalkController,
  ExportPagesController,
  DatasetPagesController,
  PresignedController,
  FeedbackConfigsController,
  FeedbackController,
  OtlpController,
  StatisticsController,
  PriceApplicationsController,
  PricesController,
  PromptsController,
  PromptCommitsController,
  PromptLikesController,
  SettingsController,
  DatasetsController,
  DatasetVersionsController,
  ExperimentRunsController,
  SelectedExperimentRunsController,
  ExampleUploadsController,
  ExamplesController,
  RunGroupsController,
  ThreadsController,
  DeploymentsController,
  ArchivesController,
  IntegrationsController,
  PushHooksController,
  LogsController,
  LogEntriesController,
  EventsController,
  ListenersController,
  BulkExportsController,
  CatalogueController,
];

/** Unknown links that are looked up in a second all the same, of all addresses: behind one may be many people. */
const LINKS_PER_SECOND = 50;
/** Calls of one integration: as many at once, and on average. */
const PUSHES = { capacity: 60, perSecond: 1 };
/** Number of integrations whose calls are counted; those without calls for longest are forgotten. */
const MAX_INTEGRATIONS = 10_000;

const BUSY = 'Storing the traces failed: too many arrive at once; try again';

const RULES: Token<DeploymentRules> = Symbol('DeploymentRules');

/** Everything that controllers and ticks are made of, beside the parts that the program passes. */
const PROVIDERS: readonly Provider[] = [
  { provide: Workspaces, inject: [Informers], useFactory: openWorkspaces },
  provided(KEY_RING, [TRACE_STORE, Workspaces, API_CONFIG, CLOCK], openKeyRing),
  provided(WorkspaceReader, [HOMES, Workspaces, TRACE_STORE]),
  provided(Keys, [TRACE_STORE], (store) => new Keys(store.apiKeys, () => store.databaseTime())),
  provided(
    AttachmentKeeper,
    [ATTACHMENT_STORE, TRACE_STORE, CLOCK, LOG],
    (store, { attachments: table }, clock, log) => new AttachmentKeeper({ store, table, clock, log }),
  ),
  provided(
    AttachmentUrls,
    [ATTACHMENT_STORE, TRACE_STORE, CLOCK, API_CONFIG],
    (store, { attachments: table }, clock, { publicUrl }) =>
      new AttachmentUrls({ store, table, clock, publicUrl }),
  ),
  provided(
    AttachmentTidying,
    [ATTACHMENT_STORE, TRACE_STORE, LOG],
    (store, { attachments: table }, log) => new AttachmentTidying(store, table, log),
  ),
  provided(
    TraceIngestion,
    [TRACE_STORE, TRACE_BODIES, API_CONFIG, AttachmentKeeper],
    (store, bodies, { maxBodyBytes }, keeper) =>
      new TraceIngestion(
        store,
        bodies,
        maxBodyBytes,
        (caller) => new AttachmentIntake(keeper, store, caller),
      ),
  ),
  provided(
    TRACE_BODIES,
    [API_CONFIG],
    ({ maxBufferedBytes }) => new Admission({ capacity: maxBufferedBytes, halves: true, refusal: BUSY }),
  ),
  provided(Traces, [TRACE_STORE]),
  provided(RunSearches, [TRACE_STORE]),
  provided(RetentionSync, [TRACE_STORE, Workspaces]),
  provided(Tidying, [TRACE_STORE]),
  provided(
    SharedRuns,
    [TRACE_STORE, RunSearches, Workspaces, API_CONFIG, CLOCK],
    (store, searches, workspaces, { wrongKeysPerMinute: perMinute }, clock) => {
      const limits = { perMinute, chancesPerSecond: LINKS_PER_SECOND, called: 'link', clock };
      return new SharedRuns(store, searches, workspaces, new WrongKeys(limits));
    },
  ),
  provided(
    PageSessions,
    [KEY_RING, CLOCK, API_CONFIG],
    ({ keys, wrongKeys }, clock, { publicUrl }) => new PageSessions({ keys, wrongKeys, clock, publicUrl }),
  ),
  provided(PageReaders, [PageSessions, AnswerBudget]),
  provided(
    AgentCalls,
    [AgentRoutes, CLOCK, API_CONFIG],
    (routes, clock, { allowPrivateEndpoints: allowPrivate }) =>
      new AgentCalls({ routes, clock, allowPrivate }),
  ),
  provided(
    Deployments,
    [HOMES, Workspaces, TRACE_STORE, AgentRoutes, CLOCK, RULES],
    (homes, workspaces, store, routes, clock, rules) =>
      new Deployments({ ...homes, routes }, workspaces, store.projects, clock, rules),
  ),
  provided(
    DeploymentRevisions,
    [HOMES, Deployments, TRACE_STORE, CLOCK],
    (homes, deployments, store, clock) =>
      new DeploymentRevisions(
        homes,
        deployments,
        new RevisionHistory(homes.revisions, store.revisionArchive),
        clock,
      ),
  ),
  provided(RULES, [Integrations, UploadedArchives, API_CONFIG], (integrations, archives, { addresses }) => ({
    integrations,
    archives,
    runsProcesses: addresses === 'loopback',
  })),
  provided(
    UploadedArchives,
    [ATTACHMENT_STORE, TRACE_STORE, AttachmentKeeper, HOMES, Workspaces, CLOCK],
    (store, { sourceArchives: table }, keeper, { deployments, revisions }, workspaces, clock) =>
      new UploadedArchives({ store, table, keeper, deployments, revisions, workspaces, clock }),
  ),
  provided(
    AgentRoutes,
    [Informers, API_CONFIG],
    (informers, config) =>
      new AgentRoutes(
        {
          deployments: informers.of(RESOURCES.AgentDeployment),
          revisions: informers.of(RESOURCES.AgentRevision),
          listeners: informers.of(RESOURCES.Listener),
        },
        routePlaceOf(config),
      ),
  ),
  provided(Integrations, [KubeClient, Workspaces]),
  provided(
    PushHooks,
    [KubeClient, HOMES, Workspaces, API_CONFIG, CLOCK],
    (client, { deployments }, workspaces, { wrongKeysPerMinute: perMinute }, clock) =>
      new PushHooks({
        client,
        deployments,
        workspaces,
        wrongSignatures: new WrongKeys({ perMinute, chancesPerSecond: 5, called: 'signature', clock }),
        pace: new TokenBuckets({ ...PUSHES, most: MAX_INTEGRATIONS, clock }),
      }),
  ),
  provided(FeedbackConfigurations, [TRACE_STORE]),
  provided(Feedback, [TRACE_STORE]),
  provided(PresignedFeedback, [TRACE_STORE, Workspaces, CLOCK]),
  provided(
    Destinations,
    [HOMES, Workspaces, API_CONFIG, CLOCK],
    ({ destinations, exports, secrets }, workspaces, { allowPrivateEndpoints }, clock) =>
      new Destinations(destinations, exports, secrets, workspaces, allowPrivateEndpoints, clock),
  ),
  provided(
    ExportWebhooks,
    [HOMES, API_CONFIG, CLOCK],
    ({ secrets }, { exportWebhookPrivateAddresses: allowPrivate }, clock) => {
      const advice = 'set AGENTPLANE_EXPORT_WEBHOOK_PRIVATE_ADDRESSES=true for the platform to allow these';
      return new ExportWebhooks({ secrets, clock, guard: webhookGuard({ allowPrivate, advice }) });
    },
  ),
  provided(
    BulkExports,
    [HOMES, Workspaces, TRACE_STORE, ExportWebhooks, CLOCK, API_CONFIG],
    (homes, workspaces, store, webhooks, clock, { maxUnfinishedExports }) =>
      new BulkExports(homes, workspaces, store, webhooks, clock, maxUnfinishedExports),
  ),
  provided(DatasetRequests, [TRACE_STORE]),
  provided(ExampleLists, [TRACE_STORE, AttachmentUrls]),
  provided(ExperimentRuns, [TRACE_STORE, ExampleLists, RunSearches, AttachmentUrls]),
  provided(
    ExampleUploads,
    [TRACE_STORE, TRACE_BODIES, API_CONFIG, AttachmentKeeper],
    (store, budget, { maxBodyBytes }, keeper) => new ExampleUploads(store, budget, maxBodyBytes, keeper),
  ),
  provided(
    SpanIngestion,
    [TRACE_STORE, TRACE_BODIES, API_CONFIG],
    (store, bodies, { maxBodyBytes }) => new SpanIngestion(store, bodies, maxBodyBytes),
  ),
  provided(Statistics, [TRACE_STORE, RunSearches]),
  provided(Prices, [TRACE_STORE]),
  provided(PriceApplications, [TRACE_STORE]),
  provided(Prompts, [TRACE_STORE]),
  provided(Threads, [TRACE_STORE, RunSearches, CLOCK]),
  { provide: LogPlaces, useFactory: () => new LogPlaces() },
  provided(
    LogEntries,
    [DeploymentLogs, Deployments, DeploymentRevisions],
    (logs, deployments, revisions) => new LogEntries(logs, { deployments, revisions }),
  ),
  provided(
    DeploymentLogs,
    [KubeClient, Deployments, DeploymentRevisions, CLOCK, API_CONFIG],
    (client, deployments, revisions, clock, { buildNamespace }) =>
      new DeploymentLogs(client, { deployments, revisions }, clock, buildNamespace),
  ),
  provided(
    DeploymentEvents,
    [KubeClient, Deployments, HOMES, CLOCK],
    (client, deployments, homes, clock) =>
      new DeploymentEvents(client, deployments, homes.deployments, clock),
  ),
  provided(Listeners, [HOMES, Workspaces]),
  provided(
    ExportTables,
    [HOMES, Workspaces, API_CONFIG, CLOCK],
    (homes, workspaces, { allowPrivateEndpoints }, clock) =>
      new ExportTables(homes, workspaces, allowPrivateEndpoints, clock),
  ),
  provided(SealedTables, [TRACE_STORE, API_CONFIG], (store, config) => new SealedTables(store, config)),
];

/** The whole api: its controllers, and everything that they are made of. */
@Module({})
export class ApiModule {
  static with(parts: ApiParts): DynamicModule {
    return apiOf(coreProviders(parts), [ScheduleModule.forRoot()]);
  }

  /** The routes alone, to be described and not to be called. */
  static routes(): DynamicModule {
    return apiOf(coreNames(), []);
  }
}

function apiOf(core: readonly Provider[], imports: DynamicModule[]): DynamicModule {
  return { module: ApiModule, imports, controllers: CONTROLLERS, providers: [...core, ...PROVIDERS] };
}
