import {
  Body,
  type CallHandler,
  type ExecutionContext,
  Headers,
  Inject,
  type NestInterceptor,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Observable, tap } from 'rxjs';
import type { Caller } from '#lib/auth';
import { type FieldSurroundings, ignoredFields, ignoredText } from '#lib/manifests';
import type { AgentDeploymentSpec, SourceConfig } from '#lib/resources';
import type { ApiConfig } from '../config.js';
import { API_CONFIG } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Described, Resource } from '../wire/operation.js';
import { entityTag, IfMatch } from '../wire/if-match.js';
import { PathId } from '../wire/query-flag.js';
import { Post, Get, Patch, Delete } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';
import { fromWire, snakeCase } from '../wire/shape.js';
import { addWarning, FromWords } from '../wire/speak-vocabulary.js';
import { ourWord, type SentWords } from '../wire/vocabulary.js';
import {
  DeletionAnswer,
  DeploymentAnswer,
  DeploymentPage,
  isDeploymentAnswer,
  RevisionAnswer,
  RevisionPage,
} from './deployment-answer.js';
import {
  DeleteDeploymentQuery,
  DeleteDeploymentsQuery,
  DeploymentsQuery,
  RevisionsQuery,
  CreateDeploymentRequest,
  CreateRevisionRequest,
  PatchDeploymentRequest,
} from './deployment-request.js';
import { DeploymentRevisions } from './deployment-revisions.js';
import { Deployments } from './deployments.js';
import { leftOutText } from './render-deployment.js';
import { RepeatedRequest } from './repeated-request.js';

/** Puts the header `ETag` on answers with a deployment, for `If-Match` of the next change. */
class TagDeployments implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    return next.handle().pipe(
      tap((answer) => {
        if (!isDeploymentAnswer(answer)) return;
        void context.switchToHttp().getResponse<FastifyReply>().header('etag', entityTag(answer.generation));
      }),
    );
  }
}

const READS = new Set(['GET', 'HEAD']);

/**
 * Names fields that have no effect in the header `Warning` of what answers a change with the deployment, as API servers of
 * Kubernetes warn: `299 - "TEXT"`.
 */
class WarnOfIgnoredFields implements NestInterceptor {
  readonly #surroundings: FieldSurroundings;

  constructor(
    @Inject(API_CONFIG)
    { agentDatabaseImage, addresses }: Pick<ApiConfig, 'agentDatabaseImage' | 'addresses'>,
  ) {
    this.#surroundings = {
      databases: agentDatabaseImage === undefined ? 'shared' : 'own',
      runsProcesses: addresses === 'loopback',
    };
  }

  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const http = context.switchToHttp();
    if (READS.has(http.getRequest<FastifyRequest>().method)) return next.handle();
    return next.handle().pipe(
      tap((answer) => {
        const warning = isDeploymentAnswer(answer) ? warningOf(answer, this.#surroundings) : '';
        if (warning !== '') addWarning(http.getResponse<FastifyReply>(), warning);
        const leftOut = isDeploymentAnswer(answer) ? leftOutText(answer.left_out_secrets) : '';
        if (leftOut !== '') addWarning(http.getResponse<FastifyReply>(), leftOut);
      }),
    );
  }
}

function warningOf({ source, source_config }: DeploymentAnswer, here: FieldSurroundings): string {
  const { resource_spec, ...config } = source_config;
  const sourceConfig: SourceConfig = { ...fromWire(config), resourceSpec: fromWire(resource_spec) };
  const spec = { source: ourWord('source', source) as AgentDeploymentSpec['source'], sourceConfig };
  // one that is named may be of another cluster, where images are pulled; the condition knows which it is
  const surroundings = { ...here, runsProcesses: here.runsProcesses && !source_config.listener_id };
  return ignoredText(ignoredFields(spec, surroundings), snakeCase);
}

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

@Resource('Deployments (v2)', 'v2/deployments')
@UseInterceptors(WarnOfIgnoredFields, TagDeployments)
export class DeploymentsController {
  constructor(
    private readonly deployments: Deployments,
    private readonly revisions: DeploymentRevisions,
  ) {}

  @Post('', WORKSPACE, {
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

  @Get('', READ, { summary: 'Deployments of the workspace', answer: DeploymentPage })
  list(@FromCaller() caller: Caller, @Query() query: DeploymentsQuery): Promise<DeploymentPage> {
    return this.deployments.list(caller, query);
  }

  @Get(':deployment_id', READ, { summary: 'A deployment', answer: DeploymentAnswer })
  get(@FromCaller() caller: Caller, @PathId('deployment_id') id: string): Promise<DeploymentAnswer> {
    return this.deployments.get(caller, id);
  }

  @Patch(':deployment_id', WORKSPACE, {
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

  @Delete('', WORKSPACE, {
    summary: 'Deletes the named deployments with their revisions and databases',
    answer: DeletionAnswer,
  })
  deleteAll(@FromCaller() caller: Caller, @Query() query: DeleteDeploymentsQuery): Promise<DeletionAnswer> {
    return this.deployments.deleteAll(caller, query.deployment_ids, query.delete_tracing_project ?? false);
  }

  @Delete(':deployment_id', WORKSPACE, {
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

  @Get(':deployment_id/revisions', READ, {
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

  @Post(':deployment_id/revisions', WORKSPACE, {
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

  @Get(':deployment_id/revisions/:revision_id', READ, {
    summary: 'A revision with its status',
    answer: RevisionAnswer,
  })
  getRevision(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @PathId('revision_id') revisionId: string,
  ): Promise<RevisionAnswer> {
    return this.revisions.get(caller, id, revisionId);
  }

  @Post(':deployment_id/restart', WORKSPACE, {
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

  @Post(':deployment_id/revisions/:revision_id/redeploy', WORKSPACE, {
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
