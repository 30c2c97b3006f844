import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { Type } from 'class-transformer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { CLOCK, TRACE_STORE } from '../core/tokens.js';
import { DeploymentRevisions } from '../deployment/deployment-revisions.js';
import { Deployments } from '../deployment/deployments.js';
import { Described } from '../wire/described.js';
import { Whole } from '../wire/fields.js';
import { PathId } from '../wire/query-flag.js';
import { AgentCalls } from './agent-calls.js';
import { renderDeployment, renderDeploymentList } from './deployment-page.js';
import { Page, PageReaders } from './page-readers.js';
import { renderThreads, TALK } from './talk-page.js';

/** Query of the page of deployments. */
class DeploymentListQuery {
  @Whole({ min: 0, max: 2_147_483_647, about: 'Deployments to skip' })
  @Type(() => Number)
  offset?: number;
}

const DEPLOYMENTS = 50;
const REVISIONS = 10;

/** Deployments for people. */
@Described(({ ApiTags }) => ApiTags('Pages'))
@Controller('o/:tenant_id/deployments')
export class DeploymentPagesController {
  constructor(
    private readonly readers: PageReaders,
    private readonly deployments: Deployments,
    private readonly revisions: DeploymentRevisions,
    private readonly agents: AgentCalls,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'projects'>,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  @Get()
  @RouteConfig({ countsAnswer: true })
  @Page('The deployments of a workspace as a page, for a signed-in person')
  async list(
    @PathId('tenant_id') tenantId: string,
    @Query() { offset = 0 }: DeploymentListQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.show({ request, reply, tenantId, route: 'GET /v2/deployments' }, async (reader) => {
      const { resources } = await this.deployments.list(reader.caller, { offset, limit: DEPLOYMENTS });
      const next = resources.length < DEPLOYMENTS ? undefined : offset + DEPLOYMENTS;
      return renderDeploymentList(resources, next, reader);
    });
  }

  @Get(':deployment_id')
  @RouteConfig({ countsAnswer: true })
  @Page('A deployment with its revisions and threads as a page, for a signed-in person')
  async deployment(
    @PathId('tenant_id') tenantId: string,
    @PathId('deployment_id') id: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = { request, reply, tenantId, route: 'GET /v2/deployments/{deployment_id}' };
    await this.readers.show(asked, async (reader, hold) => {
      const { caller, mayCall } = reader;
      const deployment = await this.deployments.get(caller, id);
      const { resources } = await this.revisions.list(caller, id, { limit: REVISIONS, offset: 0 });
      const project = await this.store.projects.find(tenantId, { name: deployment.name });
      const threads = mayCall(TALK)
        ? renderThreads(
            await this.agents.threadsOf(this.deployments.find(caller, id), reader, hold),
            reader.pathOf('deployments', id, 'threads'),
            this.clock.now(),
          )
        : `<p class="quiet">A key of the scope ${caller.scope} does not open agents: sign in with one of the scope workspace to see threads.</p>`;
      return renderDeployment({ deployment, revisions: resources, projectId: project?.id, threads }, reader);
    });
  }
}
