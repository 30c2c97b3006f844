import { Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { TraceStore } from '#lib/trace-store';
import { BulkExports } from '../bulk-export/bulk-exports.js';
import { TRACE_STORE } from '../core/tokens.js';
import { Resource } from '../wire/operation.js';
import { PathId, QueryWhole } from '../wire/query-flag.js';
import { Page, PageReaders, type PageReader } from './page-readers.js';
import { escapeHtml, renderDocument, renderState, renderTable, renderTime } from '#lib/page';
import type { ExportAnswer, ExportRunAnswer } from '../bulk-export/export-answer.js';
import { nextLink, renderTrail } from './trace-lists.js';

function stateOf({ status, paused = false }: { readonly status: string; readonly paused?: boolean }): string {
  const tone = /^(FAILED|TIMEDOUT|Failed|TimedOut)$/i.test(status)
    ? 'bad'
    : /^COMPLETED$/i.test(status)
      ? 'good'
      : 'plain';
  return renderState(`${status.toLowerCase()}${paused ? ', paused' : ''}`, tone);
}

function progressOf(percent: number): string {
  const whole = Math.floor(percent);
  return `<span class="progress"><progress max="100" value="${whole}" aria-label="progress"></progress> ${whole} %</span>`;
}

function reasonOf({
  status_message: message,
  status_reason: reason,
}: Pick<ExportAnswer, 'status_message' | 'status_reason'>): string {
  return escapeHtml(message ?? reason ?? '');
}

function projectLink(
  id: string | null,
  name: string | undefined,
  { pathOf, mayCall }: Pick<PageReader, 'pathOf' | 'mayCall'>,
): string {
  if (id === null) return '';
  const text = escapeHtml(name ?? id);
  if (name === undefined || !mayCall('POST /runs/query')) return text;
  return `<a href="${escapeHtml(pathOf('projects', 'p', id))}">${text}</a>`;
}

/** Exports with their progress and reasons, the newest first. */
function renderExportList(
  exports: readonly ExportAnswer[],
  projects: ReadonlyMap<string, string>,
  next: number | undefined,
  reader: PageReader,
): Buffer {
  const rows = exports.map((one) => [
    `<a href="${escapeHtml(reader.pathOf('exports', one.id))}">${escapeHtml(one.id.slice(0, 8))}</a>${one.interval_hours === null ? '' : ' <span class="kind">schedule</span>'}`,
    projectLink(one.session_id, projects.get(one.session_id ?? ''), reader),
    stateOf(one),
    one.interval_hours === null ? progressOf(one.percent) : '',
    one.rows_exported.toLocaleString('en'),
    reasonOf(one),
    renderTime(one.created_at),
  ]);
  const none =
    '<p>There are no exports here. The command <code>agentplane export create</code> makes one.</p>';
  const headings = ['export', 'project', 'state', 'progress', 'rows', 'reason', 'since'];
  const main = `<h1>Exports</h1>
${rows.length === 0 ? none : renderTable('Exports', headings, rows)}
${next === undefined ? '' : nextLink('Earlier exports', { offset: String(next) })}`;
  return renderDocument('Exports', main, reader.navigation);
}

/** An export, and the days that it is made of. */
interface ShownExport {
  readonly found: ExportAnswer;
  readonly days: readonly ExportRunAnswer[];
  /** Days to skip for the next page. */
  readonly next: number | undefined;
  readonly project: string | undefined;
}

function renderExport({ found, days, next, project }: ShownExport, reader: PageReader): Buffer {
  const { pathOf, navigation } = reader;
  const source = found.source_bulk_export_id;
  const facts: readonly (readonly [string, string])[] = [
    ['state', stateOf(found)],
    ['progress', found.interval_hours === null ? progressOf(found.percent) : ''],
    ['reason', reasonOf(found)],
    ['project', projectLink(found.session_id, project, reader)],
    ['rows', found.rows_exported.toLocaleString('en')],
    ['from', found.start_time === null ? '' : renderTime(found.start_time)],
    ['to', found.end_time === null ? '' : renderTime(found.end_time)],
    ['every', found.interval_hours === null ? '' : `${found.interval_hours} h`],
    ['filter', found.filter === null ? '' : `<code>${escapeHtml(found.filter)}</code>`],
    ['format', escapeHtml(found.format)],
    [
      'made by',
      source === null
        ? ''
        : `<a href="${escapeHtml(pathOf('exports', source))}">schedule ${escapeHtml(source.slice(0, 8))}</a>`,
    ],
  ];
  const shown = facts.filter(([, value]) => value !== '');
  const rows = days.map((day) => [
    renderTime(day.start_time.replace(/T00:00:00(?:\.0+)?Z$/, '')),
    stateOf(day),
    progressOf(day.percent),
    day.rows_exported.toLocaleString('en'),
    String(day.retry_number),
    [reasonOf(day), ...Object.values(day.errors ?? {}).map((text) => escapeHtml(text))]
      .filter((text) => text !== '')
      .join('<br>'),
  ]);
  const table = renderTable('Days', ['day', 'state', 'progress', 'rows', 'retries', 'reason'], rows);
  const main = `${renderTrail(['Exports', pathOf('exports')])}<h1>Export ${escapeHtml(found.id.slice(0, 8))}</h1>
<dl class="facts">${shown.map(([name, value]) => `<div><dt>${name}</dt> <dd>${value}</dd></div>`).join('')}</dl>
${rows.length === 0 ? '<p>It has no days yet.</p>' : table}
${next === undefined ? '' : nextLink('More days', { offset: String(next) })}`;
  return renderDocument(`Export ${found.id.slice(0, 8)}`, main, navigation);
}

/** Query of the pages of exports. */
class ExportListQuery {
  @QueryWhole({ min: 0, max: 2_147_483_647, about: 'Items to skip' })
  offset?: number;
}

const EXPORTS = 50;
const DAYS = 100;

/** Exports for people. */
@Resource('Pages', 'o/:tenant_id/exports')
export class ExportPagesController {
  constructor(
    private readonly readers: PageReaders,
    private readonly exports: BulkExports,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'projects'>,
  ) {}

  @Page('', 'The exports of a workspace as a page, for a signed-in person')
  async list(
    @PathId('tenant_id') tenantId: string,
    @Query() { offset = 0 }: ExportListQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = { reply, tenantId, route: 'GET /api/v1/bulk-exports' };
    await this.readers.show(asked, async (reader) => {
      const found = await this.exports.list(reader.caller, { offset, limit: EXPORTS });
      const names = await this.#projectNames(
        tenantId,
        found.map(({ session_id: id }) => id),
      );
      return renderExportList(found, names, found.length < EXPORTS ? undefined : offset + EXPORTS, reader);
    });
  }

  @Page(':export_id', 'An export with its days as a page, for a signed-in person')
  async one(
    @PathId('tenant_id') tenantId: string,
    @PathId('export_id') id: string,
    @Query() { offset = 0 }: ExportListQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = { reply, tenantId, route: 'GET /api/v1/bulk-exports/{export_id}' };
    await this.readers.show(asked, async (reader) => {
      const found = await this.exports.get(reader.caller, id);
      const days = await this.exports.listRuns(reader.caller, id, { offset, limit: DAYS });
      const names = await this.#projectNames(tenantId, [found.session_id]);
      const next = days.length < DAYS ? undefined : offset + DAYS;
      return renderExport({ found, days, next, project: names.get(found.session_id ?? '') }, reader);
    });
  }

  async #projectNames(
    tenantId: string,
    ids: readonly (string | null)[],
  ): Promise<ReadonlyMap<string, string>> {
    const wanted = [...new Set(ids.filter((id) => id !== null))];
    if (wanted.length === 0) return new Map();
    const found = await this.store.projects.findAll(
      tenantId,
      wanted.map((id) => ({ kind: 'id', id })),
    );
    return new Map(found.map(({ id, name }) => [id, name]));
  }
}
