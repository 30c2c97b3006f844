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
import { formatInstant } from '#lib/time';
import type { StoredRun } from '#lib/trace-store';
import { AnswerBudget } from '../core/answer-budget.js';
import { renderCursor } from '../trace/all-runs.js';
import { runPagePath } from '../trace/page-path.js';
import { isParentMissing } from '../trace/render-run.js';
import { RunSearches } from '../trace/run-searches.js';
import { Described } from '../wire/described.js';
import { Text, Time, Uuid } from '../wire/fields.js';
import { Operation } from '../wire/operation.js';
import { clientAddress } from '../wire/origin-of.js';
import { PathId } from '../wire/query-flag.js';
import { escapeHtml, PAGE_HEADERS, renderDocument } from './page-document.js';
import { PAGES, PageSessions, ProjectNames } from './page-sessions.js';
import { tookOf, useOf } from './run-item.js';
import { PAGE_BYTES, PAGE_FIELDS, PAGE_RUNS, renderTracePage } from './trace-page.js';

/**
 * True when a form was sent by a page of this api, according to the browser's headers; clients that are not
 * browsers send none.
 */
function isOwnForm(headers: Readonly<Record<string, string | undefined>>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin, host } = headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

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

/** Query of `GET /sign-in`. */
class SignInQuery {
  @Text({ maxLength: 2_000, about: 'Path of the page to open' })
  to?: string;
}

/** Body of `POST /sign-in`, as a form. */
class SignInRequest extends SignInQuery {
  @Text({ required: true, maxLength: 200, about: 'An API key that may read traces' })
  key: string;
}

/** A page that a person who signed in is redirected to; nothing outside of the pages. */
const PAGE_PATH = /^\/o(?:\/[\w-]+)*(?:\?[\w=&.%~-]*)?$/;

/** @returns undefined for anything but the address of a page of this api */
function pagePathOf(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= 2_000 && PAGE_PATH.test(text) ? text : undefined;
}

/** A page that asks for a key. */
function renderSignIn(to: string | undefined, problem?: string): Buffer {
  const said = problem === undefined ? '' : `<p class="error" role="alert">${escapeHtml(problem)}</p>`;
  // links of other sites come without the cookie, which is sent from here
  const again =
    to === undefined ? '' : `<p><a href="${escapeHtml(to)}">Signed in already: open the page</a></p>`;
  return renderDocument(
    'Sign in',
    `<h1>Sign in</h1>
<p class="quiet">This page belongs to a workspace. Enter an API key of it that may read traces.</p>
${said}
<form class="key" method="post" action="/sign-in">
<input type="hidden" name="to" value="${escapeHtml(to ?? '')}">
<label>API key <input type="password" name="key" required autofocus autocomplete="current-password" spellcheck="false" maxlength="200"></label>
<div><button>Sign in</button></div>
</form>
${again}`,
  );
}

/** Form above the pages of a signed-in reader. */
const SIGN_OUT = '<form class="out" method="post" action="/sign-out"><button>Sign out</button></form>';

/** A page that reports a missing page, with a way to another key. */
function renderMissing(to: string | undefined, detail: string): Buffer {
  return renderSignIn(to, `${detail}, or the key that is signed in may not read it.`);
}

/** Page after a sign-in that came from no page. */
function renderSignedIn(): Buffer {
  const text = '<p>Open an address of a trace or a project, as the clients print it.</p>';
  return renderDocument('Signed in', `${SIGN_OUT}<h1>Signed in</h1>\n${text}`);
}

/** The traces of a project that began last, with links to their pages. */
function renderProjectPage(name: string, roots: readonly StoredRun[], cursor: string | undefined): Buffer {
  const next =
    cursor === undefined
      ? ''
      : `<p><a rel="next" href="?cursor=${encodeURIComponent(cursor)}">Earlier traces</a></p>`;
  const table = `<table><thead><tr><th>trace</th><th>began</th><th>took</th><th>used</th><th>status</th></tr></thead>
<tbody>${roots.map(({ row }) => rowOf(row)).join('\n')}</tbody></table>`;
  const main = `${SIGN_OUT}<h1>${escapeHtml(name)}</h1>
${roots.length === 0 ? '<p>There are no traces here.</p>' : table}
${next}`;
  return renderDocument(name, main);
}

function rowOf(row: StoredRun['row']): string {
  const state = row.status === 'error' ? '<span class="failed">error</span>' : escapeHtml(row.status);
  return `<tr><td><a href="${escapeHtml(runPagePath(row))}">${escapeHtml(row.name || row.id)}</a>${isParentMissing(row) ? ' (parent not received)' : ''}</td><td>${escapeHtml(formatInstant(row.startTime))}</td><td class="number">${tookOf(row)}</td><td class="number">${escapeHtml(useOf(row))}</td><td>${state}</td></tr>`;
}

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
