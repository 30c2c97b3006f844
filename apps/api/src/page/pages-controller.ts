import { Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PublicError } from '#lib/errors';
import { copyButton, escapeHtml } from '#lib/page';
import type { StoredRun, TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { Deployments } from '../deployment/deployments.js';
import { Feedback } from '../feedback/feedback.js';
import { renderCursor } from '../trace/all-runs.js';
import { RunSearches } from '../trace/run-searches.js';
import { Traces } from '../trace/traces.js';
import { Resource } from '../wire/operation.js';
import { Text, Time, Uuid } from '../wire/fields.js';
import { PathId, QueryWhole } from '../wire/query-flag.js';
import { Page, PageForm, type PageReader, PageReaders } from './page-readers.js';
import { renderProjectList, renderTraceList, renderTrail } from './trace-lists.js';
import { PAGE_BYTES, PAGE_FIELDS, PAGE_RUNS, renderTracePage } from './trace-page.js';

/** Query of pages: the parameters that the clients add to their addresses, and the start of a page. */
class PageQuery {
  @Text({ maxLength: 200, about: 'Of the link to the next page' })
  cursor?: string;

  @Text({ maxLength: 10, about: 'Taken and without effect: clients send it' })
  poll?: string;

  @Uuid({ about: 'Likewise' })
  trace_id?: string;

  @Time({ about: 'Likewise' })
  start_time?: string;
}

/** Query of the page of a project. */
class TracesQuery extends PageQuery {
  @Text({ maxLength: 2_000, about: 'Condition on the roots of the traces, in the filter language' })
  filter?: string;
}

/** Query of the page of projects. */
class ProjectsQuery {
  @Text({ maxLength: 200, about: 'Part of the name, any case' })
  name_contains?: string;

  @QueryWhole({ min: 0, max: 2_147_483_647, about: 'Projects to skip' })
  offset?: number;
}

const TRACES = 100;
const PROJECTS = 50;
const READ_RUNS = 'POST /runs/query';
const SHARE = 'PUT /runs/{run_id}/share';
const READ_DEPLOYMENTS = 'GET /v2/deployments';

/** Projects and traces for people, the latter at the addresses that the `langsmith` clients print. */
@Resource('Pages', 'o/:tenant_id/projects')
export class PagesController {
  constructor(
    private readonly readers: PageReaders,
    private readonly searches: RunSearches,
    private readonly traces: Traces,
    private readonly feedback: Feedback,
    private readonly deployments: Deployments,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'shares'>,
  ) {}

  @Page('', 'The tracing projects of a workspace as a page, for a signed-in person')
  async projects(
    @PathId('tenant_id') tenantId: string,
    @Query() { name_contains: name = '', offset = 0 }: ProjectsQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.show({ reply, tenantId, route: 'GET /sessions' }, async (reader) => {
      const query = { ...(name === '' ? {} : { name_contains: name }), limit: PROJECTS, offset };
      const found = await this.traces.listProjects(tenantId, query);
      const statistics = await this.traces.statisticsOf(tenantId, found, { include_stats: true });
      const next = found.length < PROJECTS ? undefined : offset + PROJECTS;
      return renderProjectList(found, statistics, reader, { name, next });
    });
  }

  @Page('p/:session_id', 'The newest traces of a project as a page, for a signed-in person')
  async project(
    @PathId('tenant_id') tenantId: string,
    @PathId('session_id') projectId: string,
    @Query() query: TracesQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.show({ reply, tenantId, route: READ_RUNS }, (reader, hold) =>
      this.#project(reader, projectId, query, hold),
    );
  }

  @Page('p/:session_id/r/:run_id', 'The trace of a run as a page, for a signed-in person')
  async trace(
    @PathId('tenant_id') tenantId: string,
    @PathId('session_id') projectId: string,
    @PathId('run_id') id: string,
    @Query() { cursor }: PageQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.show({ reply, tenantId, route: READ_RUNS }, (reader, hold) =>
      this.#trace(reader, { projectId, id, cursor }, hold),
    );
  }

  @PageForm('p/:session_id/r/:run_id/share', 'Shares the trace of a run by a link, by the button of its page')
  async share(
    @PathId('tenant_id') tenantId: string,
    @PathId('session_id') projectId: string,
    @PathId('run_id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.act({ reply, tenantId, route: SHARE }, async ({ pathOf }) => {
      const shared = await this.store.shares.share(tenantId, { id, projectId });
      if (!shared) throw new PublicError('not_found', `Run with ID ${id} not found`);
      return pathOf('projects', 'p', projectId, 'r', id);
    });
  }

  @PageForm('p/:session_id/r/:run_id/unshare', 'Ends the link of a trace, by the button of its page')
  async unshare(
    @PathId('tenant_id') tenantId: string,
    @PathId('session_id') projectId: string,
    @PathId('run_id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.readers.act({ reply, tenantId, route: SHARE }, async ({ pathOf }) => {
      if (!(await this.store.shares.unshare(tenantId, { id, projectId })))
        throw new PublicError('not_found', `Run with ID ${id} not found`);
      return pathOf('projects', 'p', projectId, 'r', id);
    });
  }

  async #project(
    reader: PageReader,
    projectId: string,
    { cursor, filter = '' }: TracesQuery,
    hold: (bytes: number) => void,
  ): Promise<Buffer> {
    const { caller } = reader;
    const asked = { projectIds: [projectId], isRoot: true, fields: PAGE_FIELDS, filters: { filter }, cursor };
    const found = await this.searches
      .page(caller, { ...asked, isAscending: false, limit: TRACES }, hold)
      .catch((error: unknown) => {
        // a filter that cannot be read is shown with the words about it
        if (!(error instanceof PublicError) || error.code !== 'bad_request' || filter === '') throw error;
        return error;
      });
    const [page, problem] =
      found instanceof PublicError
        ? [{ runs: [], next: undefined }, found.message.replace(/^filter: /, '')]
        : [found, undefined];
    const project = await this.traces.getProject(caller.tenantId, projectId);
    return renderTraceList(
      project,
      {
        filter,
        problem,
        roots: page.runs,
        cursor: page.next && renderCursor(page.next),
        deployment: await this.#deploymentOf(reader, project.name),
      },
      reader,
    );
  }

  /** The deployment that traces into a project of its name. */
  async #deploymentOf(
    { caller, mayCall, pathOf }: PageReader,
    name: string,
  ): Promise<{ readonly name: string; readonly path: string } | undefined> {
    if (!mayCall(READ_DEPLOYMENTS)) return undefined;
    const [found] = (await this.deployments.list(caller, { name, limit: 1, offset: 0 })).resources;
    return found && { name, path: pathOf('deployments', found.id) };
  }

  async #trace(
    reader: PageReader,
    {
      projectId,
      id,
      cursor,
    }: { readonly projectId: string; readonly id: string; readonly cursor: string | undefined },
    hold: (bytes: number) => void,
  ): Promise<Buffer> {
    const { caller, navigation } = reader;
    const { row } = await this.searches.one(caller, { id, projectId, fields: new Map() }, hold);
    const asked = { projectIds: [projectId], traceId: row.traceId, fields: PAGE_FIELDS, filters: {}, cursor };
    const page = await this.searches.page(caller, { ...asked, isAscending: true, limit: PAGE_RUNS }, hold);
    hold(PAGE_BYTES);
    const ids = page.runs.map((run) => run.row.id);
    const feedback = await this.feedback.list(caller, { run: ids, limit: 100, offset: 0 });
    return renderTracePage(page.runs, {
      cursor: page.next && renderCursor(page.next),
      here: id,
      ...(await this.#surroundings(reader, row, page.runs)),
      navigation,
      feedback,
    });
  }

  /** Links to what a trace belongs to, and the button that shares it. */
  async #surroundings(
    reader: PageReader,
    { id, projectId, threadId }: StoredRun['row'],
    runs: readonly StoredRun[],
  ): Promise<{ readonly above: string; readonly actions: string }> {
    const { caller, mayCall, pathOf } = reader;
    const { tenantId } = caller;
    const project = await this.traces.getProject(tenantId, projectId);
    const deployment = await this.#deploymentOf(reader, project.name);
    const projectPath = pathOf('projects', 'p', projectId);
    const ofThread = `?filter=${encodeURIComponent(`eq(thread_id, ${JSON.stringify(threadId)})`)}`;
    const isOfDataset = runs.some(({ row }) => row.referenceExampleId !== undefined);
    const links: readonly (readonly [string, string | undefined])[] = [
      ['thread', threadId && deployment && `${deployment.path}/threads/${encodeURIComponent(threadId)}`],
      ['traces of the thread', threadId && `${projectPath}${ofThread}`],
      [`deployment ${deployment?.name}`, deployment?.path],
      [
        'dataset',
        isOfDataset
          ? project.referenceDatasetId && pathOf('datasets', project.referenceDatasetId)
          : undefined,
      ],
    ];
    const shown = links.flatMap(([text, path]) =>
      path === undefined ? [] : [`<a href="${escapeHtml(path)}">${escapeHtml(text)}</a>`],
    );
    const share = mayCall(SHARE) ? await this.#shareButton(tenantId, id, `${projectPath}/r/${id}`) : '';
    const trail: (readonly [string, string])[] = mayCall('GET /sessions')
      ? [['Projects', pathOf('projects')]]
      : [];
    return {
      above: renderTrail(...trail, [project.name, projectPath]),
      actions: `<div class="actions">${shown.join(' ')}${copyButton("Copy the run's id", id)}${share}</div>`,
    };
  }

  async #shareButton(tenantId: string, id: string, path: string): Promise<string> {
    // a run in several shared traces has no one link
    const found = await this.store.shares.find(tenantId, id).catch((error: unknown) => {
      if (error instanceof PublicError && error.code === 'conflict') return undefined;
      throw error;
    });
    const token = found?.token;
    const form = (action: string, text: string): string =>
      `<form method="post" action="${escapeHtml(`${path}/${action}`)}"><button class="plain">${text}</button></form>`;
    if (token === undefined) return form('share', 'Share by a link');
    return `<a href="/public/${escapeHtml(token)}/r">link for everyone</a>${form('unshare', 'End the link')}`;
  }
}
