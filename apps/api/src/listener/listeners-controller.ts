import { Controller, Get, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { PageQuery } from '../wire/page.js';
import { PathId } from '../wire/path-id.js';
import { Listeners } from './listeners.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { ListenerAnswer, ListenerPage } from './listener-answer.js';

@Described(({ ApiTags }) => ApiTags('Listeners (v2)'))
@Controller('v2/listeners')
export class ListenersController {
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
}
