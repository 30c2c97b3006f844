import { Body, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import type { Project, RunStatistics } from '#lib/trace-store';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { Get, Post, Patch, Delete } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';
import { Answered, JSON_VALUE, orNull, Perhaps, TEXT, TIME, UUID, WHOLE } from '../wire/shape.js';
import { jsonListOf, jsonWith } from '../wire/stored-json.js';
import { StoredAnswer } from './run-answer.js';
import {
  CreateSessionQuery,
  CreateSessionRequest,
  OneSessionQuery,
  SessionsQuery,
  UpdateSessionRequest,
} from './session-request.js';
import { describeStatistics, renderStatistics } from './statistics-answer.js';
import { Traces } from './traces.js';

/** A tracing project on the wire. */
class ProjectAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(orNull(TEXT)) readonly description: string | null;
  @Answered(TIME) readonly start_time: string;
  @Answered(orNull(TIME)) readonly end_time: string | null;
  @Answered(JSON_VALUE) readonly extra: unknown;
  @Answered(orNull(UUID)) readonly default_dataset_id: string | null;
  @Answered(orNull(UUID)) readonly reference_dataset_id: string | null;
  @Answered(orNull(WHOLE), 'Number among the experiments of the dataset') readonly test_run_number:
    number | null;
  @Answered(orNull(TIME)) readonly last_run_start_time_live: string | null;
  @Answered(orNull(TEXT)) readonly trace_tier: string | null;
}
// statistics are part of the answer when include_stats is set
describeStatistics(ProjectAnswer, Perhaps);

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
@Resource('Sessions', ['sessions', 'api/v1/sessions'])
export class SessionsController {
  constructor(private readonly traces: Traces) {}

  @Get('', READ, { summary: 'Tracing projects', answer: [ProjectAnswer], sends: 'json' })
  async list(@FromCaller() caller: Caller, @Query() query: SessionsQuery): Promise<string> {
    const projects = await this.traces.listProjects(caller.tenantId, query);
    const statistics = await this.traces.statisticsOf(caller.tenantId, projects, query);
    return jsonListOf(projects, (project) => renderProject(project, statistics.get(project.id)));
  }

  @Post('', WORKSPACE, {
    summary: 'Creates a tracing project',
    answer: ProjectAnswer,
    refuses: { 409: 'There is one of that name, and upsert is not true' },
    sends: 'json',
  })
  async create(
    @FromCaller() caller: Caller,
    @Body() body: CreateSessionRequest,
    @Query() { upsert }: CreateSessionQuery,
  ): Promise<string> {
    return renderProject(await this.traces.createProject(caller.tenantId, body, upsert === true));
  }

  @Get(':session_id', READ, { summary: 'A tracing project', answer: ProjectAnswer, sends: 'json' })
  async get(
    @FromCaller() caller: Caller,
    @PathId('session_id') id: string,
    @Query() query: OneSessionQuery,
  ): Promise<string> {
    const project = await this.traces.getProject(caller.tenantId, id);
    const statistics = await this.traces.statisticsOf(caller.tenantId, [project], query);
    return renderProject(project, statistics.get(project.id));
  }

  @Patch(':session_id', WORKSPACE, {
    summary: 'Changes a tracing project; what is null or absent stays as it is',
    answer: ProjectAnswer,
    refuses: { 409: 'There is another one of that name' },
    sends: 'json',
  })
  async update(
    @FromCaller() caller: Caller,
    @PathId('session_id') id: string,
    @Body() body: UpdateSessionRequest,
  ): Promise<string> {
    return renderProject(await this.traces.updateProject(caller.tenantId, id, body));
  }

  @Delete(':session_id', WORKSPACE, {
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
