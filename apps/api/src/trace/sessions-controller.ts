import { Body, Controller, Delete, Get, Header, HttpCode, Patch, Post, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import type { Project, RunStatistics } from '#lib/trace-store';
import { FromCaller } from '../tenancy/caller.js';
import { PathId } from '../wire/path-id.js';
import { JSON_TYPE, jsonListOf, jsonWith } from '../wire/stored-json.js';
import {
  CreateSessionQuery,
  CreateSessionRequest,
  OneSessionQuery,
  SessionsQuery,
  UpdateSessionRequest,
} from './session-request.js';
import { ProjectAnswer } from './session-answer.js';
import { renderStatistics } from './statistics-answer.js';
import { StoredAnswer } from './run-answer.js';
import { Traces } from './traces.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';

/** JSON text of a {@link ProjectAnswer}. */
function renderProject(project: Project, statistics?: RunStatistics): string {
  const answer = {
    id: project.id,
    tenant_id: project.tenantId,
    name: project.name,
    description: project.description ?? null,
    start_time: (project.startTime ?? project.createdAt).toISOString(),
    end_time: project.endTime?.toISOString() ?? null,
    default_dataset_id: null,
    reference_dataset_id: project.referenceDatasetId ?? null,
    test_run_number: project.testRunNumber ?? null,
    last_run_start_time_live: null,
    trace_tier: project.traceTier ?? null,
    ...(statistics ? renderStatistics(statistics) : {}),
  };
  return jsonWith(answer, { extra: project.extra });
}

/** Tracing projects, `session` on the wire. */
@Described(({ ApiTags }) => ApiTags('Sessions'))
@Controller(['sessions', 'api/v1/sessions'])
export class SessionsController {
  constructor(private readonly traces: Traces) {}

  @Get()
  @Header('content-type', JSON_TYPE)
  @Operation({ summary: 'Tracing projects', answer: [ProjectAnswer] })
  async list(@FromCaller() caller: Caller, @Query() query: SessionsQuery): Promise<string> {
    const projects = await this.traces.listProjects(caller.tenantId, query);
    const statistics = await this.traces.statisticsOf(caller.tenantId, projects, query);
    return jsonListOf(projects, (project) => renderProject(project, statistics.get(project.id)));
  }

  @Post()
  @HttpCode(200)
  @Header('content-type', JSON_TYPE)
  @Operation({
    summary: 'Creates a tracing project',
    answer: ProjectAnswer,
    refuses: { 409: 'There is one of that name, and upsert is not true' },
  })
  async create(
    @FromCaller() caller: Caller,
    @Body() body: CreateSessionRequest,
    @Query() { upsert }: CreateSessionQuery,
  ): Promise<string> {
    return renderProject(await this.traces.createProject(caller.tenantId, body, upsert === true));
  }

  @Get(':session_id')
  @Header('content-type', JSON_TYPE)
  @Operation({ summary: 'A tracing project', answer: ProjectAnswer })
  async get(
    @FromCaller() caller: Caller,
    @PathId('session_id') id: string,
    @Query() query: OneSessionQuery,
  ): Promise<string> {
    const project = await this.traces.getProject(caller.tenantId, id);
    const statistics = await this.traces.statisticsOf(caller.tenantId, [project], query);
    return renderProject(project, statistics.get(project.id));
  }

  @Patch(':session_id')
  @Header('content-type', JSON_TYPE)
  @Operation({
    summary: 'Changes a tracing project; what is null or absent stays as it is',
    answer: ProjectAnswer,
    refuses: { 409: 'There is another one of that name' },
  })
  async update(
    @FromCaller() caller: Caller,
    @PathId('session_id') id: string,
    @Body() body: UpdateSessionRequest,
  ): Promise<string> {
    return renderProject(await this.traces.updateProject(caller.tenantId, id, body));
  }

  @Delete(':session_id')
  @HttpCode(202)
  @Operation({
    summary:
      'Deletes a tracing project; it and its runs are found no more, and their rows are removed afterwards',
    status: 202,
    answer: StoredAnswer,
  })
  async delete(@FromCaller() caller: Caller, @PathId('session_id') id: string): Promise<StoredAnswer> {
    await this.traces.deleteProject(caller.tenantId, id);
    return { message: 'Session deleted; the rows of its runs are being removed' };
  }
}
