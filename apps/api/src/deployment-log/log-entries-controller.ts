import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { Described } from '../wire/described.js';
import { leaving } from '../wire/leaving.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { LogEntries, type LogKind } from './log-entries.js';
import { LogEntriesAnswer, LogEntriesRequest } from './log-entry.js';
import type { LogTarget } from './logged-pods.js';
import { HELD_BYTES, LogPlaces } from './logs-controller.js';

/** Each of the three containers of a build is read apart. */
const READS = 3;
const REFUSES = { 404: 'There is no such deployment or revision', 429: 'Too many logs are read at once' };

/** Logs in the form that clients of control planes page through. */
@Described(({ ApiTags }) => ApiTags('Deployments (v2)'))
@Controller('v1/projects/:deployment_id')
export class LogEntriesController {
  constructor(
    private readonly entries: LogEntries,
    private readonly answers: AnswerBudget,
    private readonly places: LogPlaces,
  ) {}

  @Post('deploy_logs')
  @HttpCode(200)
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'What the pods of a deployment print, with levels, and why it is not ready',
    answer: LogEntriesAnswer,
    refuses: REFUSES,
  })
  ofDeployment(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @Body() request: LogEntriesRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId }, 'deploy', { request, reply });
  }

  @Post('revisions/:revision_id/deploy_logs')
  @HttpCode(200)
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'What the pods of a revision print, with levels, and why it does not serve',
    answer: LogEntriesAnswer,
    refuses: REFUSES,
  })
  ofRevision(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @PathId('revision_id') revisionId: string,
    @Body() request: LogEntriesRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId, revisionId }, 'deploy', { request, reply });
  }

  @Post('revisions/:revision_id/build_logs')
  @HttpCode(200)
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'What the build of a revision prints, and why it failed or waits',
    answer: LogEntriesAnswer,
    refuses: REFUSES,
  })
  ofBuild(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @PathId('revision_id') revisionId: string,
    @Body() request: LogEntriesRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.#send(caller, { deploymentId, revisionId }, 'build', { request, reply });
  }

  async #send(
    caller: Caller,
    target: LogTarget,
    kind: LogKind,
    { request, reply }: { readonly request: LogEntriesRequest; readonly reply: FastifyReply },
  ): Promise<void> {
    const client = leaving(reply, this.places.require(caller.tenantId).release);
    try {
      await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
        hold(kind === 'build' ? READS * HELD_BYTES : HELD_BYTES);
        return this.entries.read({ caller, target, kind, request, signal: client.signal });
      });
    } catch (error) {
      client.abort(error);
      throw error;
    }
  }
}
