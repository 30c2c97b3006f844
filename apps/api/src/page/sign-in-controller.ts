import { Body, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { PAGE_HEADERS } from '#lib/page';
import { Resource } from '../wire/operation.js';
import { Text } from '../wire/fields.js';
import { clientAddress } from '../wire/origin-of.js';
import { Get, Post } from '../wire/route.js';
import { publicly } from '../wire/route-access.js';
import { isOwnForm, Page, PageReaders, pagePathOf, renderSignIn, SIGN_IN } from './page-readers.js';
import { PAGES, PageSessions } from './page-sessions.js';

/** Query of `GET /sign-in`. */
class SignInQuery {
  @Text({ maxLength: 2_000, about: 'Path of the page to open' })
  to?: string;
}

/** Body of `POST /sign-in`, as a form. */
class SignInRequest extends SignInQuery {
  @Text({ required: true, maxLength: 200, about: 'An API key' })
  key: string;
}

/** Begins and ends sessions of pages. */
@Resource('Pages')
export class SignInController {
  constructor(
    private readonly sessions: PageSessions,
    private readonly readers: PageReaders,
  ) {}

  /** Browsers are led here from the root, whose requests have no cookie of the pages. */
  @Get('console', publicly('leads to the pages'), { summary: 'Leads to the pages for people', status: 303 })
  enter(@Res() reply: FastifyReply): void {
    void reply.code(303).header('location', PAGES).header('vary', 'accept').send();
  }

  @Page('o', 'Leads to the first page that the signed-in key opens', { countsAnswer: false })
  async begin(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.readers.begin(request, reply);
  }

  @Page('sign-in', 'The form that asks for a key', { countsAnswer: false })
  form(@Query() { to }: SignInQuery, @Res() reply: FastifyReply): void {
    void reply.headers(PAGE_HEADERS);
    void reply.send(renderSignIn(pagePathOf(to)));
  }

  @Post('sign-in', publicly('the form asks for a key'), {
    summary: 'Begins a session of pages, by the form that they show',
    status: 303,
    body: SignInRequest,
    config: { takesForm: true },
  })
  async signIn(
    @Body() { key, to }: SignInRequest,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const path = pagePathOf(to);
    void reply.headers(PAGE_HEADERS);
    if (!isOwnForm(request))
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
        .header('location', path ?? PAGES)
        .send();
    } catch (error) {
      if (!(error instanceof PublicError)) throw error;
      const status = error.code === 'too_many' ? 429 : 401;
      void reply.code(status).send(renderSignIn(path, error.message));
    }
  }

  @Post('sign-out', publicly('ends a session, which a cookie names'), {
    summary: 'Ends the session of pages in this browser',
    status: 303,
    config: { takesForm: true },
  })
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    void reply.headers(PAGE_HEADERS);
    if (!isOwnForm(request)) return void reply.code(403).send(renderSignIn(undefined));
    void reply.code(303).header('set-cookie', this.sessions.end()).header('location', SIGN_IN).send();
  }
}
