import { Body, Controller, Delete, Get, HttpCode, Module, Patch, Post, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { HOMES } from '../core/tokens.js';
import type { Homes } from '../kubernetes/homes.js';
import { FromCaller } from '../tenancy/caller.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PageQuery, PathId } from '../wire/query-flag.js';
import { FromWords } from '../wire/speak-vocabulary.js';
import type { SentWords } from '../wire/vocabulary.js';
import {
  CreateListenerRequest,
  ListenerAnswer,
  ListenerPage,
  Listeners,
  PatchListenerRequest,
} from './listeners.js';

@Described(({ ApiTags }) => ApiTags('Listeners (v2)'))
@Controller('v2/listeners')
class ListenersController {
  constructor(private readonly listeners: Listeners) {}

  @Get()
  @Operation({ summary: 'Listeners of the workspace', answer: ListenerPage })
  list(@FromCaller() caller: Caller, @Query() query: PageQuery): ListenerPage {
    return this.listeners.list(caller, query);
  }

  @Get(':listener_id')
  @Operation({ summary: 'A listener', answer: ListenerAnswer })
  get(@FromCaller() caller: Caller, @PathId('listener_id') id: string): ListenerAnswer {
    return this.listeners.get(caller, id);
  }

  @Post()
  @Operation({
    summary: 'Creates a listener in this cluster or in another one',
    status: 201,
    answer: ListenerAnswer,
    refuses: { 409: 'The name or the compute id is taken, or the workspace has as many listeners as it may' },
  })
  create(
    @FromCaller() caller: Caller,
    @Body() body: CreateListenerRequest,
    @FromWords() sent: SentWords,
  ): Promise<ListenerAnswer> {
    return this.listeners.create(caller, body, sent);
  }

  @Patch(':listener_id')
  @Operation({ summary: 'Changes namespaces and address of a listener', answer: ListenerAnswer })
  update(
    @FromCaller() caller: Caller,
    @PathId('listener_id') id: string,
    @Body() body: PatchListenerRequest,
  ): Promise<ListenerAnswer> {
    return this.listeners.update(caller, id, body);
  }

  @Delete(':listener_id')
  @HttpCode(204)
  @Operation({
    summary: 'Deletes a listener that carries out no deployment',
    status: 204,
    refuses: { 409: 'The listener carries out deployments; the answer names them' },
  })
  delete(@FromCaller() caller: Caller, @PathId('listener_id') id: string): Promise<void> {
    return this.listeners.delete(caller, id);
  }
}

/** Listeners of a workspace. */
@Module({
  imports: [TenancyModule],
  controllers: [ListenersController],
  providers: [
    {
      provide: Listeners,
      inject: [HOMES, Workspaces],
      useFactory: (homes: Homes, workspaces: Workspaces) => new Listeners(homes, workspaces),
    },
  ],
})
export class ListenerModule {}
