import {
  applyDecorators,
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Post,
  Query,
  Req,
  Res,
} from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { AnswerBudget } from '../core/answer-budget.js';
import { renderCursor } from '../trace/run-cursor.js';
import { RunSearches } from '../trace/run-searches.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import { isOwnForm } from './own-form.js';
import { PAGE_HEADERS } from './page-document.js';
import { PageQuery, SignInQuery, SignInRequest } from './page-request.js';
import { PageSessions, PAGES } from './page-sessions.js';
import { ProjectNames } from './project-names.js';
import { renderProjectPage } from './project-page.js';
import { pagePathOf, renderMissing, renderSignedIn, renderSignIn, SIGN_OUT } from './sign-in-page.js';
import { PAGE_BYTES, PAGE_FIELDS, PAGE_RUNS, renderTracePage } from './trace-page.js';
import { clientAddress } from '../wire/client-address.js';

const TRACES = 100;
const SIGN_IN = '/sign-in';
/** Scopes of keys that may read runs. */
const READERS = new Set(['workspace', 'deployment', 'read']);

/** Describes a page of HTML, which leads to the form without a session. */
function Page(summary: string): MethodDecorator {
  const html = { 'text/html': { schema: { type: 'string' as const } } };
  return applyDecorators(
    Described(({ ApiOperation, ApiResponse }) =>
      applyDecorators(
        ApiOperation({ summary }),
        ApiResponse({ status: 200, description: 'A page of HTML', content: html }),
        ApiResponse({
          status: 303,
          description: 'Without a session: leads to the form that asks for a key',
        }),
        ApiResponse({ status: 404, description: 'No such thing, as a page', content: html }),
      ),
    ),
  );
}

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly tenantId: string;
}

/** Pages for people at the addresses that the `langsmith` clients print. */
@Described(({ ApiTags }) => ApiTags('Pages'))
@Controller()
export class PagesController {
  constructor(
    private readonly sessions: PageSessions,
    private readonly searches: RunSearches,
    private readonly projects: ProjectNames,
    private readonly answers: AnswerBudget,
  ) {}

  @Get('o/:tenant_id/projects/p/:session_id/r/:run_id')
  @RouteConfig({ countsAnswer: true })
  @Page('The trace of a run as a page, for a signed-in person')
  async trace(
    @PathId('tenant_id') tenantId: string,
    @PathId('session_id') projectId: string,
    @PathId('run_id') id: string,
    @Query() { cursor }: PageQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.#forReader({ request, reply, tenantId }, (caller, hold) =>
      this.#trace(caller, { projectId, id, cursor }, hold),
    );
  }

  @Get('o/:tenant_id/projects/p/:session_id')
  @RouteConfig({ countsAnswer: true })
  @Page('The newest traces of a project as a page, for a signed-in person')
  async project(
    @PathId('tenant_id') tenantId: string,
    @PathId('session_id') projectId: string,
    @Query() { cursor }: PageQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.#forReader({ request, reply, tenantId }, async (caller, hold) => {
      const asked = { projectIds: [projectId], isRoot: true, fields: PAGE_FIELDS, filters: {}, cursor };
      const page = await this.searches.page(caller, { ...asked, isAscending: false, limit: TRACES }, hold);
      const name = await this.projects.of(caller.tenantId, projectId);
      return renderProjectPage(name, page.runs, page.next && renderCursor(page.next));
    });
  }

  @Post('sign-in')
  @HttpCode(303)
  @RouteConfig({ takesForm: true })
  @Operation({
    summary: 'Begins a session of pages, by the form that they show',
    status: 303,
    body: SignInRequest,
  })
  async signIn(
    @Body() { key, to }: SignInRequest,
    @Headers() headers: Readonly<Record<string, string | undefined>>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const path = pagePathOf(to);
    void reply.headers(PAGE_HEADERS);
    if (!isOwnForm(headers))
      return void reply
        .code(403)
        .send(renderSignIn(path, 'The form came from another site. Enter the key here.'));
    try {
      const cookie = await this.sessions.begin(key.trim(), {
        address: clientAddress(request),
        isTls: request.protocol === 'https',
      });
      void reply
        .code(303)
        .header('set-cookie', cookie)
        .header('location', path ?? `${PAGES}/signed-in`)
        .send();
    } catch (error) {
      if (!(error instanceof PublicError)) throw error;
      const status = error.code === 'too_many' ? 429 : 401;
      void reply.code(status).send(renderSignIn(path, error.message));
    }
  }

  @Get('sign-in')
  @Page('The form that asks for a key')
  form(@Query() { to }: SignInQuery, @Res() reply: FastifyReply): void {
    void reply.headers(PAGE_HEADERS);
    void reply.send(renderSignIn(pagePathOf(to)));
  }

  @Get('o/signed-in')
  @Page('Says that a session has begun')
  async signedIn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = await this.sessions.find(request.headers.cookie);
    if (!caller) return void reply.code(303).header('location', SIGN_IN).send();
    void reply.headers(PAGE_HEADERS).send(renderSignedIn());
  }

  @Post('sign-out')
  @HttpCode(303)
  @RouteConfig({ takesForm: true })
  @Operation({ summary: 'Ends the session of pages in this browser', status: 303 })
  signOut(
    @Headers() headers: Readonly<Record<string, string | undefined>>,
    @Res() reply: FastifyReply,
  ): void {
    void reply.headers(PAGE_HEADERS);
    if (!isOwnForm(headers)) return void reply.code(403).send(renderSignIn(undefined));
    void reply.code(303).header('set-cookie', this.sessions.end()).header('location', SIGN_IN).send();
  }

  async #trace(
    caller: Caller,
    {
      projectId,
      id,
      cursor,
    }: { readonly projectId: string; readonly id: string; readonly cursor: string | undefined },
    hold: (bytes: number) => void,
  ): Promise<Buffer> {
    const { row } = await this.searches.one(caller, { id, projectId, fields: new Map() }, hold);
    const asked = { projectIds: [projectId], traceId: row.traceId, fields: PAGE_FIELDS, filters: {}, cursor };
    const page = await this.searches.page(caller, { ...asked, isAscending: true, limit: PAGE_RUNS }, hold);
    hold(PAGE_BYTES);
    return renderTracePage(page.runs, {
      cursor: page.next && renderCursor(page.next),
      here: id,
      above: SIGN_OUT,
    });
  }

  /**
   * Makes a page for a signed-in reader; without a session, and for pages that are not found, one that asks
   * for a key.
   */
  async #forReader(
    { request, reply, tenantId }: Asked,
    make: (caller: Caller, hold: (bytes: number) => void) => Promise<Buffer>,
  ): Promise<void> {
    const path = pagePathOf(request.url);
    const mayRead = (one: Caller): boolean => one.tenantId === tenantId && READERS.has(one.scope);
    const caller = await this.sessions.find(request.headers.cookie, mayRead);
    if (!caller)
      return void reply
        .code(303)
        .header('location', `${SIGN_IN}?to=${encodeURIComponent(path ?? '')}`)
        .send();
    void reply.headers(PAGE_HEADERS);
    if (!mayRead(caller)) return void reply.code(404).send(renderMissing(path, 'There is no such page'));
    await this.answers.send(reply, caller.tenantId, async ({ hold }) => {
      try {
        return await make(caller, hold);
      } catch (error) {
        if (!(error instanceof PublicError) || error.code !== 'not_found') throw error;
        void reply.code(404);
        return renderMissing(path, error.message);
      }
    });
  }
}
