import { Controller, Get, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { Described } from '../wire/described.js';
import { leaving } from '../wire/leaving.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { DeploymentEvents } from './deployment-events.js';
import { EventList } from './event-answer.js';
import { EventsQuery } from './event-query.js';

/** Each reads all events of a namespace. */
const PLACES = {
  capacity: 16,
  perOwner: 4,
  refusal: 'Too many lists of events are read at once; try again',
};
/** A page of large events while it is read, and then the answer. */
const HELD_BYTES = 8_388_608;

/** Events of deployments. */
@Described(({ ApiTags }) => ApiTags('Deployments (v2)'))
@Controller('v2/deployments/:deployment_id/events')
export class EventsController {
  readonly #places = new Admission(PLACES);

  constructor(
    private readonly events: DeploymentEvents,
    private readonly answers: AnswerBudget,
  ) {}

  @Get()
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'What happened to a deployment, its revisions and their pods, newest last',
    answer: EventList,
    refuses: { 404: 'There is no such deployment', 429: 'Too many lists of events are read at once' },
  })
  async list(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @Query() query: EventsQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const client = leaving(reply, this.#places.require(caller.tenantId).release);
    try {
      await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
        hold(HELD_BYTES);
        return await this.events.list(caller, deploymentId, query, client.signal);
      });
    } catch (error) {
      client.abort(error);
      throw error;
    }
  }
}
