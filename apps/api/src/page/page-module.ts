import { Module } from '@nestjs/common';
import type { Clock } from '#lib/time';
import { BulkExportModule } from '../bulk-export/bulk-export-module.js';
import type { ApiConfig } from '../config.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { API_CONFIG, CLOCK } from '../core/tokens.js';
import { DatasetModule } from '../dataset/dataset-module.js';
import { DeploymentModule } from '../deployment/deployment-module.js';
import { FeedbackModule } from '../feedback/feedback-module.js';
import { AgentRoutes } from '../route/agent-routes.js';
import type { KeyRing } from '../tenancy/key-guard.js';
import { KEY_RING, TenancyModule } from '../tenancy/tenancy-module.js';
import { TraceModule } from '../trace/trace-module.js';
import { AgentCalls } from './agent-calls.js';
import { DatasetPagesController } from './dataset-pages-controller.js';
import { DeploymentPagesController } from './deployment-pages-controller.js';
import { ExportPagesController } from './export-pages-controller.js';
import { PageReaders } from './page-readers.js';
import { PageSessions } from './page-sessions.js';
import { PagesController } from './pages-controller.js';
import { SignInController } from './sign-in-controller.js';
import { TalkController } from './talk-controller.js';

/** Pages for people. */
@Module({
  imports: [TraceModule, TenancyModule, DeploymentModule, FeedbackModule, BulkExportModule, DatasetModule],
  controllers: [
    SignInController,
    PagesController,
    DeploymentPagesController,
    TalkController,
    ExportPagesController,
    DatasetPagesController,
  ],
  providers: [
    {
      provide: PageSessions,
      inject: [KEY_RING, CLOCK, API_CONFIG],
      useFactory: ({ keys, wrongKeys }: KeyRing, clock: Clock, { publicUrl }: Pick<ApiConfig, 'publicUrl'>) =>
        new PageSessions({ keys, wrongKeys, clock, publicUrl }),
    },
    {
      provide: PageReaders,
      inject: [PageSessions, AnswerBudget],
      useFactory: (sessions: PageSessions, answers: AnswerBudget) => new PageReaders(sessions, answers),
    },
    {
      provide: AgentCalls,
      inject: [AgentRoutes, CLOCK, API_CONFIG],
      useFactory: (
        routes: AgentRoutes,
        clock: Clock,
        { allowPrivateEndpoints: allowPrivate }: Pick<ApiConfig, 'allowPrivateEndpoints'>,
      ) => new AgentCalls({ routes, clock, allowPrivate }),
    },
  ],
})
export class PageModule {}
