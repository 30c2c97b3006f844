import { Controller, Get, Headers, Param, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { Described } from '../wire/described.js';
import { EXPLORER_HEADERS, EXPLORER_PAGE } from './explorer-page.js';
import { hasTag, PackageFile } from './package-file.js';

/**
 * Cache rule: public and the same for all callers; revalidated before each use, so that page and files are of
 * one version.
 */
const KEPT = 'public, no-cache';
/** Swagger UI as Fastify's package brings it; swagger-ui-dist has an install script that reports each installation. */
const FOLDER = '@fastify/swagger-ui/static';

/** Shows the OpenAPI document as a page that sends requests by hand. */
@Described(({ ApiExcludeController }) => ApiExcludeController())
@Controller('docs')
export class ExplorerController {
  readonly #files: ReadonlyMap<string, PackageFile> = new Map(
    [
      ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'] as const,
      ['swagger-ui.css', 'text/css; charset=utf-8'] as const,
    ].map(([name, type]) => [name, new PackageFile(`${FOLDER}/${name}`, type)]),
  );

  @Get()
  page(@Res() reply: FastifyReply): void {
    void reply.headers(EXPLORER_HEADERS).send(EXPLORER_PAGE);
  }

  @Get(':file')
  @RouteConfig({ countsAnswer: true })
  async file(
    @Param('file') name: string,
    @Headers('if-none-match') known: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const file = this.#files.get(name);
    if (!file) throw new PublicError('not_found', 'Not Found');
    const { tag, bytes } = await file.mark();
    void reply.headers({ etag: tag, 'cache-control': KEPT });
    if (hasTag(known, tag)) return void reply.code(304).send();
    void reply.headers({ 'content-type': file.contentType, 'content-length': bytes });
    void reply.send(request.method === 'HEAD' ? undefined : file.open());
  }
}
