import { Body, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PublicError } from '#lib/errors';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import { PAGE_HEADERS } from '#lib/page';
import { PAGE_BYTES, PAGE_FIELDS, PAGE_RUNS, renderTracePage } from '../page/trace-page.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { renderCursor, renderedWithin, withAttachments } from '../trace/all-runs.js';
import { renderRun } from '../trace/render-run.js';
import { RUN_FIELDS, RunAnswer, selectedFields } from '../trace/run-fields.js';
import { RunsPageAnswer } from '../trace/runs-query.js';
import { Described, Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { SharedPageQuery, SharedRunsRequest } from './share-request.js';
import { SharedRuns } from './shared-runs.js';
import { AskedOrigin, clientAddress } from '../wire/origin-of.js';
import { Get, Post } from '../wire/route.js';
import { publicly } from '../wire/route-access.js';

const PAGE = 100;
const UNKNOWN = 'The link does not exist, or sharing was ended';
const BUSY = 'Too much is read at once, or too many unknown links were opened from this address';

/** Shared traces, for every holder of a link's token. */
@Resource('Shared', ['public', 'api/v1/public'])
export class PublicController {
  constructor(
    private readonly shared: SharedRuns,
    private readonly answers: AnswerBudget,
    private readonly urls: AttachmentUrls,
  ) {}

  @Get(':share_token/run', publicly('the token of a shared trace'), {
    summary: 'The root of a shared trace; no key is needed',
    answer: RunAnswer,
    refuses: { 404: UNKNOWN, 429: BUSY },
    sends: 'counted json',
  })
  async root(
    @PathId('share_token') token: string,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.#sendOne(reply, token, origin);
  }

  @Get(':share_token/run/:run_id', publicly('the token of a shared trace'), {
    summary: 'A run of a shared trace; no key is needed',
    answer: RunAnswer,
    refuses: { 404: UNKNOWN, 429: BUSY },
    sends: 'counted json',
  })
  async run(
    @PathId('share_token') token: string,
    @PathId('run_id') runId: string,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.#sendOne(reply, token, origin, runId);
  }

  @Post(':share_token/runs/query', publicly('the token of a shared trace'), {
    summary: 'A page of the runs of a shared trace; no key is needed',
    answer: RunsPageAnswer,
    refuses: { 404: UNKNOWN, 429: BUSY },
    sends: 'counted json',
  })
  async query(
    @PathId('share_token') token: string,
    @Body() { id: ids, select, limit, cursor }: SharedRunsRequest,
    @AskedOrigin() origin: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const shared = await this.shared.open(token, clientAddress(reply.request));
    await this.answers.send(reply, shared.tenantId, async ({ hold }) => {
      const fields = selectedFields(select);
      const asked = { fields, ids: ids ?? undefined, limit: Math.min(limit ?? PAGE, PAGE), cursor };
      const { runs, next } = await this.shared.page(shared, asked, hold);
      const found = await withAttachments(
        this.urls,
        { caller: shared, share: token, origin, hold },
        runs,
        fields,
      );
      const cursors = { next: next ? renderCursor(next) : null, prev: null };
      const rest = JSON.stringify({ cursors, search_cursors: null, parsed_query: null });
      return renderedWithin('{"runs":[', [found, fields], `],${rest.slice(1)}`);
    });
  }

  @Get(':share_token/r', publicly('the token of a shared trace'), {
    summary: 'A shared trace as a page for people; no key is needed',
    refuses: { 404: UNKNOWN, 429: BUSY },
    config: { countsAnswer: true },
  })
  @Described(({ ApiResponse }) =>
    ApiResponse({
      status: 200,
      description: 'A page of HTML',
      content: { 'text/html': { schema: { type: 'string' } } },
    }),
  )
  async page(
    @PathId('share_token') token: string,
    @Query() { cursor }: SharedPageQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const shared = await this.shared.open(token, clientAddress(reply.request));
    await this.answers.send(reply, shared.tenantId, async ({ hold }) => {
      const asked = { fields: PAGE_FIELDS, limit: PAGE_RUNS, cursor };
      const { runs, next } = await this.shared.page(shared, asked, hold);
      hold(PAGE_BYTES);
      void reply.headers(PAGE_HEADERS);
      return renderTracePage(runs, { cursor: next && renderCursor(next) });
    });
  }

  async #sendOne(reply: FastifyReply, token: string, origin: string, runId?: string): Promise<void> {
    const shared = await this.shared.open(token, clientAddress(reply.request));
    await this.answers.send(reply, shared.tenantId, async ({ hold }) => {
      const which = runId === undefined ? { isRoot: true } : { ids: [runId] };
      const asked = { fields: RUN_FIELDS, limit: 1, ...which };
      const { runs } = await this.shared.page(shared, asked, hold);
      const reader = { caller: shared, share: token, origin, hold };
      const [run] = await withAttachments(this.urls, reader, runs, RUN_FIELDS);
      if (!run) throw new PublicError('not_found', UNKNOWN);
      return renderRun(run, RUN_FIELDS);
    });
  }
}
