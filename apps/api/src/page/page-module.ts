import { Module } from '@nestjs/common';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK, TRACE_STORE } from '../core/tokens.js';
import type { KeyRing } from '../tenancy/key-guard.js';
import { KEY_RING, TenancyModule } from '../tenancy/tenancy-module.js';
import { TraceModule } from '../trace/trace-module.js';
import { PageSessions, ProjectNames } from './page-sessions.js';
import { PagesController } from './pages-controller.js';

/** Pages for people. */
@Module({
  imports: [TraceModule, TenancyModule],
  controllers: [PagesController],
  providers: [
    {
      provide: PageSessions,
      inject: [KEY_RING, CLOCK, API_CONFIG],
      useFactory: ({ keys, wrongKeys }: KeyRing, clock: Clock, { publicUrl }: Pick<ApiConfig, 'publicUrl'>) =>
        new PageSessions({ keys, wrongKeys, clock, publicUrl }),
    },
    {
      provide: ProjectNames,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new ProjectNames(store),
    },
  ],
})
export class PageModule {}
