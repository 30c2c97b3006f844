import { type CallHandler, type ExecutionContext, Inject, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Observable, tap } from 'rxjs';
import { type FieldSurroundings, ignoredFields, ignoredText } from '#lib/manifests';
import type { AgentDeploymentSpec, SourceConfig } from '#lib/resources';
import type { ApiConfig } from '../config.js';
import { API_CONFIG } from '../core/tokens.js';
import { fromWire, snakeCase } from '../wire/case.js';
import { addWarning } from '../wire/speak-vocabulary.js';
import { ourWord } from '../wire/vocabulary.js';
import { type DeploymentAnswer, isDeploymentAnswer } from './deployment-answer.js';
import { leftOutText } from './render-deployment.js';

const READS = new Set(['GET', 'HEAD']);

/**
 * Names fields that drive nothing in the header `Warning` of what answers a change with the deployment, as API servers of
 * Kubernetes warn: `299 - "TEXT"`.
 */
export class WarnOfIgnoredFields implements NestInterceptor {
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
