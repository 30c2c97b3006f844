import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { PathId } from '../wire/path-id.js';
import { DeploymentAnswer, DeploymentPage, RevisionAnswer, RevisionPage } from './deployment-answer.js';
import { DeleteDeploymentQuery, DeploymentsQuery, RevisionsQuery } from './deployment-query.js';
import { CreateDeploymentRequest, PatchDeploymentRequest } from './deployment-request.js';
import { Deployments } from './deployments.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { WarnOfIgnoredFields } from './warn-of-ignored-fields.js';

@Described(({ ApiTags }) => ApiTags('Deployments (v2)'))
@Controller('v2/deployments')
@UseInterceptors(WarnOfIgnoredFields)
export class DeploymentsController {
  constructor(private readonly deployments: Deployments) {}

  @Post()
  @Operation({
    summary: 'Creates a deployment and its first revision',
    status: 201,
    answer: DeploymentAnswer,
    refuses: { 400: 'There is no listener of that id', 409: 'There is a deployment of that name' },
  })
  create(@FromCaller() caller: Caller, @Body() body: CreateDeploymentRequest): Promise<DeploymentAnswer> {
    return this.deployments.create(caller, body);
  }

  @Get()
  @Operation({ summary: 'Deployments of the workspace', answer: DeploymentPage })
  list(@FromCaller() caller: Caller, @Query() query: DeploymentsQuery): Promise<DeploymentPage> {
    return this.deployments.list(caller, query);
  }

  @Get(':deployment_id')
  @Operation({ summary: 'A deployment', answer: DeploymentAnswer })
  get(@FromCaller() caller: Caller, @PathId('deployment_id') id: string): Promise<DeploymentAnswer> {
    return this.deployments.get(caller, id);
  }

  @Patch(':deployment_id')
  @Operation({
    summary: 'Changes a deployment; some fields make a new revision',
    answer: DeploymentAnswer,
    refuses: {
      400: 'The deployment is being deleted',
      409: 'Another request changed the deployment at the same time',
    },
  })
  update(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @Body() body: PatchDeploymentRequest,
  ): Promise<DeploymentAnswer> {
    return this.deployments.update(caller, id, body);
  }

  @Delete(':deployment_id')
  @HttpCode(204)
  @Operation({ summary: 'Deletes a deployment with its revisions and its database', status: 204 })
  delete(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @Query() query: DeleteDeploymentQuery,
  ): Promise<void> {
    return this.deployments.delete(caller, id, query.delete_tracing_project ?? false);
  }

  @Get(':deployment_id/revisions')
  @Operation({ summary: 'Revisions of a deployment, newest first', answer: RevisionPage })
  listRevisions(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @Query() query: RevisionsQuery,
  ): RevisionPage {
    return this.deployments.listRevisions(caller, id, query);
  }

  @Get(':deployment_id/revisions/:revision_id')
  @Operation({ summary: 'A revision with its status', answer: RevisionAnswer })
  getRevision(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @PathId('revision_id') revisionId: string,
  ): RevisionAnswer {
    return this.deployments.getRevision(caller, id, revisionId);
  }

  @Post(':deployment_id/revisions/:revision_id/redeploy')
  @HttpCode(200)
  @Operation({
    summary: 'Makes a new revision from the snapshot of an earlier one',
    answer: DeploymentAnswer,
    refuses: { 400: 'The revision has not been made, or the deployment is being deleted' },
  })
  redeploy(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @PathId('revision_id') revisionId: string,
  ): Promise<DeploymentAnswer> {
    return this.deployments.redeploy(caller, id, revisionId);
  }
}
