import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Patch,
  Post,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { PathId } from '../wire/path-id.js';
import { IfMatch } from '../wire/if-match.js';
import {
  DeletionAnswer,
  DeploymentAnswer,
  DeploymentPage,
  RevisionAnswer,
  RevisionPage,
} from './deployment-answer.js';
import {
  DeleteDeploymentQuery,
  DeleteDeploymentsQuery,
  DeploymentsQuery,
  RevisionsQuery,
} from './deployment-query.js';
import {
  CreateDeploymentRequest,
  CreateRevisionRequest,
  PatchDeploymentRequest,
} from './deployment-request.js';
import { DeploymentRevisions } from './deployment-revisions.js';
import { Deployments } from './deployments.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { FromWords } from '../wire/speak-vocabulary.js';
import type { SentWords } from '../wire/vocabulary.js';
import { RepeatedRequest } from './repeated-request.js';
import { TagDeployments } from './tag-deployments.js';
import { WarnOfIgnoredFields } from './warn-of-ignored-fields.js';

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  required: false,
  description:
    'A repetition with the same key and body is answered with the deployment that the first request made',
};
const IF_MATCH = {
  name: 'If-Match',
  required: false,
  description: 'ETag of an earlier answer: the change is refused with 412 when another came in between',
};
const CHANGED = { 412: 'The deployment changed since the version that If-Match names' };

@Described(({ ApiTags }) => ApiTags('Deployments (v2)'))
@Controller('v2/deployments')
@UseInterceptors(WarnOfIgnoredFields, TagDeployments)
export class DeploymentsController {
  constructor(
    private readonly deployments: Deployments,
    private readonly revisions: DeploymentRevisions,
  ) {}

  @Post()
  @Operation({
    summary: 'Creates a deployment and its first revision',
    status: 201,
    answer: DeploymentAnswer,
    refuses: {
      400: 'There is no listener of that id',
      409: 'There is a deployment of that name, or the Idempotency-Key was used with another body',
    },
  })
  @Described(({ ApiHeader }) => ApiHeader(IDEMPOTENCY_KEY))
  create(
    @FromCaller() caller: Caller,
    @Body() body: CreateDeploymentRequest,
    @FromWords() sent: SentWords,
    @Headers('idempotency-key') key?: string,
  ): Promise<DeploymentAnswer> {
    return this.deployments.create(caller, body, sent, RepeatedRequest.of(key, body));
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
      ...CHANGED,
    },
  })
  @Described(({ ApiHeader }) => ApiHeader(IF_MATCH))
  update(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @Body() body: PatchDeploymentRequest,
    @Headers('if-match') ifMatch?: string,
  ): Promise<DeploymentAnswer> {
    return this.deployments.update(caller, id, body, { ifMatch: IfMatch.parse(ifMatch) });
  }

  @Delete()
  @HttpCode(200)
  @Operation({
    summary: 'Deletes the named deployments with their revisions and databases',
    answer: DeletionAnswer,
  })
  deleteAll(@FromCaller() caller: Caller, @Query() query: DeleteDeploymentsQuery): Promise<DeletionAnswer> {
    return this.deployments.deleteAll(caller, query.deployment_ids, query.delete_tracing_project ?? false);
  }

  @Delete(':deployment_id')
  @HttpCode(204)
  @Operation({
    summary: 'Deletes a deployment with its revisions and its database',
    status: 204,
    refuses: CHANGED,
  })
  @Described(({ ApiHeader }) => ApiHeader(IF_MATCH))
  delete(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @Query() query: DeleteDeploymentQuery,
    @Headers('if-match') ifMatch?: string,
  ): Promise<void> {
    return this.deployments.delete(caller, id, query.delete_tracing_project ?? false, IfMatch.parse(ifMatch));
  }

  @Get(':deployment_id/revisions')
  @Operation({
    summary: 'Revisions of a deployment, newest first, those in the archive included',
    answer: RevisionPage,
  })
  listRevisions(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @Query() query: RevisionsQuery,
  ): Promise<RevisionPage> {
    return this.revisions.list(caller, id, query);
  }

  @Post(':deployment_id/revisions')
  @Operation({
    summary: 'Makes a revision of the deployment as it is; one from git gets the newest commit of its branch',
    status: 201,
    answer: RevisionAnswer,
    refuses: { 400: 'The deployment is being deleted', ...CHANGED },
  })
  @Described(({ ApiHeader }) => ApiHeader(IF_MATCH))
  createRevision(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @Body() body: CreateRevisionRequest,
    @Headers('if-match') ifMatch?: string,
  ): Promise<RevisionAnswer> {
    return this.revisions.create(caller, id, body, IfMatch.parse(ifMatch));
  }

  @Get(':deployment_id/revisions/:revision_id')
  @Operation({ summary: 'A revision with its status', answer: RevisionAnswer })
  getRevision(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @PathId('revision_id') revisionId: string,
  ): Promise<RevisionAnswer> {
    return this.revisions.get(caller, id, revisionId);
  }

  @Post(':deployment_id/restart')
  @HttpCode(200)
  @Operation({
    summary: 'Replaces the pods of the revision that serves by new ones, and changes nothing else',
    answer: DeploymentAnswer,
    refuses: { 400: 'No revision serves, or the deployment is being deleted', ...CHANGED },
  })
  @Described(({ ApiHeader }) => ApiHeader(IF_MATCH))
  restart(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @Headers('if-match') ifMatch?: string,
  ): Promise<DeploymentAnswer> {
    return this.revisions.restart(caller, id, IfMatch.parse(ifMatch));
  }

  @Post(':deployment_id/revisions/:revision_id/redeploy')
  @HttpCode(200)
  @Operation({
    summary:
      'Makes a new revision from the snapshot of an earlier one; one from the archive gets the present variables',
    answer: DeploymentAnswer,
    refuses: {
      400: 'The revision has not been made, the archive has too little of it, or the deployment is being deleted',
      ...CHANGED,
    },
  })
  @Described(({ ApiHeader }) => ApiHeader(IF_MATCH))
  redeploy(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @PathId('revision_id') revisionId: string,
    @Headers('if-match') ifMatch?: string,
  ): Promise<DeploymentAnswer> {
    return this.revisions.redeploy(caller, id, revisionId, IfMatch.parse(ifMatch));
  }
}
