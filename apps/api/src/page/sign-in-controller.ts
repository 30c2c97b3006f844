import { Body, Controller, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { PAGE_HEADERS } from '#lib/page';
import { Described } from '../wire/described.js';
import { Text } from '../wire/fields.js';
import { Operation } from '../wire/operation.js';
import { clientAddress } from '../wire/origin-of.js';
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
@Described(({ ApiTags }) => ApiTags('Pages'))
@Controller()
export class SignInController {
  constructor(
    private readonly sessions: PageSessions,
    private readonly readers: PageReaders,
  ) {}

  /** Browsers are led here from the root, whose requests have no cookie of the pages. */
  @Get('console')
  @HttpCode(303)
  @Operation({ summary: 'Leads to the pages for people', status: 303 })
  enter(@Res() reply: FastifyReply): void {
    void reply.code(303).header('location', PAGES).header('vary', 'accept').send();
  }

  @Get('o')
  @Page('Leads to the first page that the signed-in key opens')
  async begin(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.readers.begin(request, reply);
  }

  @Get('sign-in')
  @Page('The form that asks for a key')
  form(@Query() { to }: SignInQuery, @Res() reply: FastifyReply): void {
    void reply.headers(PAGE_HEADERS);
    void reply.send(renderSignIn(pagePathOf(to)));
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

  @Post('sign-out')
  @HttpCode(303)
  @RouteConfig({ takesForm: true })
  @Operation({ summary: 'Ends the session of pages in this browser', status: 303 })
  signOut(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    void reply.headers(PAGE_HEADERS);
    if (!isOwnForm(request)) return void reply.code(403).send(renderSignIn(undefined));
    void reply.code(303).header('set-cookie', this.sessions.end()).header('location', SIGN_IN).send();
  }
}
