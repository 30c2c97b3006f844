import { applyDecorators } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '#lib/auth';
import { HTTP_STATUS, PublicError } from '#lib/errors';
import { escapeHtml, type Navigation, PAGE_HEADERS, renderDocument } from '#lib/page';
import type { AnswerBudget } from '../core/answer-budget.js';
import { setCaller } from '../tenancy/caller.js';
import { Described } from '../wire/operation.js';
import { Get, Post } from '../wire/route.js';
import { publicly, scopesOf } from '../wire/route-access.js';
import { PAGES, type PageSession, PageSessions } from './page-sessions.js';

export const SIGN_IN = '/sign-in';

/** Sections of the console: text, path below the workspace, and the route of REST that has the same content. */
const SECTIONS = [
  ['Deployments', 'deployments', 'GET /v2/deployments'],
  ['Projects', 'projects', 'GET /sessions'],
  ['Exports', 'exports', 'GET /api/v1/bulk-exports'],
] as const;

/** A page that a person who signed in is redirected to; nothing outside of the pages. */
const PAGE_PATH = /^\/o(?:\/[\w-]+)*(?:\?[\w=&.%~+()*!,:-]*)?$/;

/** @returns undefined for anything but the address of a page of this api */
export function pagePathOf(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= 2_000 && PAGE_PATH.test(text) ? text : undefined;
}

/** A page that asks for a key. */
export function renderSignIn(to: string | undefined, problem?: string): Buffer {
  const said = problem === undefined ? '' : `<p class="error" role="alert">${escapeHtml(problem)}</p>`;
  // links of other sites come without the cookie, which is sent from here
  const again =
    to === undefined ? '' : `<p><a href="${escapeHtml(to)}">I am signed in: open the page</a></p>`;
  return renderDocument(
    'Sign in',
    `<h1>Sign in</h1>
<p class="quiet">Enter an API key of your workspace. The console shows what the key may read.</p>
${said}
<form class="key" method="post" action="/sign-in">
<input type="hidden" name="to" value="${escapeHtml(to ?? '')}">
<label>API key <input type="password" name="key" required autofocus autocomplete="current-password" spellcheck="false" maxlength="200"></label>
<div><button>Sign in</button></div>
</form>
${again}`,
  );
}

/**
 * True when a form was sent by a page of this api, according to the browser's headers; clients that are not
 * browsers send none.
 */
export function isOwnForm({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { origin, host } = headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

const HTML = { 'text/html': { schema: { type: 'string' as const } } };

const FOR_READERS = publicly('the cookie of a session names the reader');

/** A page of HTML, which leads to the form without a session. */
export function Page(path: string, summary: string, { countsAnswer = true } = {}): MethodDecorator {
  return applyDecorators(
    Described(({ ApiOperation, ApiResponse }) =>
      applyDecorators(
        ApiOperation({ summary }),
        ApiResponse({ status: 200, description: 'A page of HTML', content: HTML }),
        ApiResponse({ status: 303, description: 'Without a session: leads to the form that asks for a key' }),
        ApiResponse({ status: 404, description: 'No such thing, as a page', content: HTML }),
      ),
    ),
    Get(path, FOR_READERS, { config: { countsAnswer } }),
  );
}

/** A form of a page, which leads to a page afterwards. */
export function PageForm(path: string, summary: string, { countsAnswer = false } = {}): MethodDecorator {
  return applyDecorators(
    Described(({ ApiOperation, ApiResponse }) =>
      applyDecorators(
        ApiOperation({ summary }),
        ApiResponse({ status: 303, description: 'Leads to the page that shows the result' }),
        ApiResponse({ status: 403, description: 'The form came from another site', content: HTML }),
        ApiResponse({ status: 404, description: 'No such thing, as a page', content: HTML }),
      ),
    ),
    Post(path, FOR_READERS, { config: { takesForm: true, countsAnswer } }),
  );
}

/** A request for a page. */
export interface AskedPage {
  readonly reply: FastifyReply;
  /** The workspace of the path. */
  readonly tenantId: string;
  /** The route of REST with the same content, as the table of scopes names it: its keys may see the page. */
  readonly route: string;
}

/** The person who reads a page. */
export interface PageReader extends PageSession {
  readonly navigation: Navigation;
  /** True when the key opens the route of REST. */
  mayCall(route: string): boolean;
  /** Path of a page of the workspace. */
  pathOf(...parts: readonly string[]): string;
}

function mayCall({ scope }: Caller, route: string): boolean {
  return scopesOf(route).includes(scope);
}

/** Path of a page of a workspace. */
function pathIn(tenantId: string, ...parts: readonly string[]): string {
  return [PAGES, tenantId, ...parts]
    .map((part, at) => (at === 0 ? part : encodeURIComponent(part)))
    .join('/');
}

function readerOf(session: PageSession, path: string): PageReader {
  const { tenantId } = session.caller;
  const links = SECTIONS.filter(([, , route]) => mayCall(session.caller, route)).map(
    ([text, part]) => [text, pathIn(tenantId, part)] as const,
  );
  const current = links.find(([, link]) => path === link || path.startsWith(`${link}/`))?.[1] ?? '';
  return {
    ...session,
    navigation: { links, current },
    mayCall: (route) => mayCall(session.caller, route),
    pathOf: (...parts) => pathIn(tenantId, ...parts),
  };
}

/** Opens pages and forms for those who signed in: their session, the rights of their key, and problems as pages. */
export class PageReaders {
  constructor(
    private readonly sessions: Pick<PageSessions, 'find'>,
    private readonly answers: AnswerBudget,
  ) {}

  /** Leads to the first section that the key opens. */
  async begin(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const session = await this.sessions.find(request.headers.cookie);
    if (!session)
      return void reply
        .code(303)
        .header('location', `${SIGN_IN}?to=${encodeURIComponent(PAGES)}`)
        .send();
    const { navigation } = readerOf(session, '');
    const [first] = navigation.links;
    if (first) return void reply.code(303).header('location', first[1]).send();
    const text = `A key of the scope ${session.caller.scope} reads nothing here. Sign out, and sign in with a key of the scope workspace or read.`;
    void reply
      .headers(PAGE_HEADERS)
      .send(renderDocument('Signed in', `<h1>Signed in</h1>\n<p>${text}</p>`, navigation));
  }

  /**
   * Makes a page for a signed-in reader; without a session, and for pages that are not found, one that asks
   * for a key. Other problems are said on a page.
   */
  async show(
    asked: AskedPage,
    make: (reader: PageReader, hold: (bytes: number) => void) => Promise<Buffer>,
  ): Promise<void> {
    const reader = await this.#enter(asked);
    if (!reader) return;
    const { reply } = asked;
    await this.answers.send(reply, reader.caller.tenantId, async ({ hold }) => {
      try {
        return await make(reader, hold);
      } catch (error) {
        return renderProblem(reply, error, pagePathOf(reply.request.url), reader);
      }
    });
  }

  /** Carries out a form, and leads to the path that it answers. */
  async act(asked: AskedPage, work: (reader: PageReader) => Promise<string>): Promise<void> {
    const { reply } = asked;
    const reader = await this.enterByForm(asked);
    if (!reader) return;
    try {
      const path = await work(reader);
      void reply.code(303).header('location', path).send();
    } catch (error) {
      void reply.send(renderProblem(reply, error, pagePathOf(reply.request.url), reader));
    }
  }

  /** The reader who sent a form; undefined when the request has been answered. */
  async enterByForm(asked: AskedPage): Promise<PageReader | undefined> {
    const { reply } = asked;
    if (isOwnForm(reply.request)) return this.#enter(asked);
    void reply.headers(PAGE_HEADERS).code(403);
    void reply.send(renderSignIn(undefined, 'The form came from another site, and was not carried out.'));
    return undefined;
  }

  async #enter({ reply, tenantId, route }: AskedPage): Promise<PageReader | undefined> {
    const { request } = reply;
    const path = request.method === 'POST' ? PAGES : pagePathOf(request.url);
    const mayRead = (one: Caller): boolean => one.tenantId === tenantId && mayCall(one, route);
    const session = await this.sessions.find(request.headers.cookie, mayRead);
    if (!session) {
      void reply
        .code(303)
        .header('location', `${SIGN_IN}?to=${encodeURIComponent(path ?? PAGES)}`)
        .send();
      return undefined;
    }
    setCaller(request, session.caller);
    void reply.headers(PAGE_HEADERS);
    if (mayRead(session.caller)) return readerOf(session, request.url.split('?', 1)[0] ?? '');
    void reply.code(404).send(renderMissing(path, 'There is no such page'));
    return undefined;
  }
}

/** A page that reports a missing page, with a way to another key. */
function renderMissing(to: string | undefined, detail: string): Buffer {
  return renderSignIn(to, `${detail}, or the key that is signed in may not read it.`);
}

/** @throws the error, where it is not one for people */
function renderProblem(
  reply: FastifyReply,
  error: unknown,
  path: string | undefined,
  { navigation }: PageReader,
): Buffer {
  if (!(error instanceof PublicError)) throw error;
  void reply.code(HTTP_STATUS[error.code]);
  if (error.code === 'not_found') return renderMissing(path, error.message);
  const main = `<h1>Not done</h1>\n<p class="error" role="alert">${escapeHtml(error.message)}</p>`;
  return renderDocument('Not done', main, navigation);
}
