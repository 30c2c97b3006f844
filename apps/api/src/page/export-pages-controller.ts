import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { Type } from 'class-transformer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TraceStore } from '#lib/trace-store';
import { BulkExports } from '../bulk-export/bulk-exports.js';
import { TRACE_STORE } from '../core/tokens.js';
import { Described } from '../wire/described.js';
import { Whole } from '../wire/fields.js';
import { PathId } from '../wire/query-flag.js';
import { renderExport, renderExportList } from './export-page.js';
import { Page, PageReaders } from './page-readers.js';

/** Query of the pages of exports. */
class ExportListQuery {
  @Whole({ min: 0, max: 2_147_483_647, about: 'Items to skip' })
  @Type(() => Number)
  offset?: number;
}

const EXPORTS = 50;
const DAYS = 100;

/** Exports for people. */
@Described(({ ApiTags }) => ApiTags('Pages'))
@Controller('o/:tenant_id/exports')
export class ExportPagesController {
  constructor(
    private readonly readers: PageReaders,
    private readonly exports: BulkExports,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'projects'>,
  ) {}

  @Get()
  @RouteConfig({ countsAnswer: true })
  @Page('The exports of a workspace as a page, for a signed-in person')
  async list(
    @PathId('tenant_id') tenantId: string,
    @Query() { offset = 0 }: ExportListQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = { request, reply, tenantId, route: 'GET /api/v1/bulk-exports' };
    await this.readers.show(asked, async (reader) => {
      const found = await this.exports.list(reader.caller, { offset, limit: EXPORTS });
      const names = await this.#projectNames(
        tenantId,
        found.map(({ session_id: id }) => id),
      );
      return renderExportList(found, names, found.length < EXPORTS ? undefined : offset + EXPORTS, reader);
    });
  }

  @Get(':export_id')
  @RouteConfig({ countsAnswer: true })
  @Page('An export with its days as a page, for a signed-in person')
  async one(
    @PathId('tenant_id') tenantId: string,
    @PathId('export_id') id: string,
    @Query() { offset = 0 }: ExportListQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const asked = { request, reply, tenantId, route: 'GET /api/v1/bulk-exports/{export_id}' };
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
