import { Controller, Get, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import { DeploymentEvents } from './deployment-events.js';
import { EventList } from './event-answer.js';
import { EventsQuery } from './event-query.js';

/** What happened to deployments. */
@Described(({ ApiTags }) => ApiTags('Deployments (v2)'))
@Controller('v2/deployments/:deployment_id/events')
export class EventsController {
  constructor(private readonly events: DeploymentEvents) {}

  @Get()
  @Operation({
    summary: 'What happened to a deployment, its revisions and their pods, newest last',
    answer: EventList,
  })
  list(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @Query() query: EventsQuery,
  ): Promise<EventList> {
    return this.events.list(caller, deploymentId, query);
  }
}
