import { createHash } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Controller, Headers, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { INSTALLATION, packagesOf } from '#lib/data-folder';
import { PublicError } from '#lib/errors';
import { Described } from '../wire/operation.js';
import { Get } from '../wire/route.js';
import { publicly } from '../wire/route-access.js';

/** Facts by which a caller may cache a file. */
export interface FileMark {
  /** Quoted, as in the header. */
  readonly tag: string;
  readonly bytes: number;
}

/** A file of an installed package. Its bytes are hashed once and streamed for each caller, never held. */
class PackageFile {
  readonly #path: string;
  #mark: Promise<FileMark> | undefined;

  constructor(
    /** Path below `node_modules`. */
    path: string,
    readonly contentType: string,
  ) {
    this.#path = join(packagesOf(INSTALLATION), path);
  }

  mark(): Promise<FileMark> {
    this.#mark ??= this.#read();
    return this.#mark;
  }

  open(): ReadStream {
    return createReadStream(this.#path);
  }

  /** Packages carry the same time of change in every version, so the tag is of the bytes. */
  async #read(): Promise<FileMark> {
    try {
      const hash = createHash('sha256');
      await pipeline(this.open(), hash);
      return { tag: `"${hash.digest('base64url').slice(0, 27)}"`, bytes: (await stat(this.#path)).size };
    } catch (error) {
      // the next request tries again
      this.#mark = undefined;
      throw error;
    }
  }
}

/** True when one of the tags that a caller has (`If-None-Match`) is this one. */
function hasTag(known: string | undefined, tag: string): boolean {
  return (known ?? '').split(',').some((one) => ['*', tag].includes(one.trim().replace(/^W\//, '')));
}

const STYLE = `
body { margin: 0; background: #fff; color: #1c1f24; font: 15px/1.5 system-ui, sans-serif; }
header { max-width: 1460px; margin: 0 auto; padding: 1rem 20px 0; box-sizing: border-box; }
header label { display: block; font-weight: 600; }
header input { width: 100%; max-width: 34rem; box-sizing: border-box; padding: .45rem .6rem; font: inherit;
  border: 1px solid #5c6570; border-radius: .3rem; }
header p { margin: .3rem 0; color: #5c6570; }
:focus-visible { outline: 2px solid #0b57d0; outline-offset: 1px; }
`;

/**
 * Loads the explorer, and adds the key to the explorer's requests. The key is in the field alone: not in an
 * address, not in the browser's storage, and not in the curl lines on the screen.
 */
const SCRIPT = `
'use strict';
const key = document.querySelector('#key');
const shown = document.querySelector('#explorer');
const none = () => () => null;
const start = () => SwaggerUIBundle({
  url: '/openapi.json',
  domNode: shown,
  deepLinking: true,
  // headings first: with more open than fits, the explorer draws operations as they are scrolled to
  docExpansion: 'none',
  defaultModelsExpandDepth: -1,
  tryItOutEnabled: true,
  validatorUrl: null,
  showMutatedRequest: false,
  // the field above is the one place for the key
  plugins: [() => ({ wrapComponents: { authorizeBtn: none, AuthorizeBtnContainer: none, authorizeOperationBtn: none } })],
  requestInterceptor: (request) => {
    const value = key.value.trim();
    if (value !== '' && !request.loadSpec) request.headers['X-Api-Key'] = value;
    return request;
  },
});
const code = document.createElement('script');
code.src = '/docs/swagger-ui-bundle.js';
code.addEventListener('load', start);
code.addEventListener('error', () => { shown.textContent = 'Loading the explorer failed; reload the page.'; });
document.head.append(code);
`;

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/**
 * Scripts: the page's own, and those that it loads. Requests: the api alone, so that the key can go nowhere
 * else. Images are those in the style sheet.
 */
const EXPLORER_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; connect-src 'self'; img-src data:; script-src ${hashOf(SCRIPT)} 'strict-dynamic'; style-src 'self' ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex',
};

/** The page that shows `/openapi.json`: the same bytes for all callers, without a secret. */
const EXPLORER_PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Agentplane: REST interface</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/swagger-ui.css"><style>${STYLE}</style></head>
<body>
<header>
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" aria-describedby="key-about">
<p id="key-about">Sent as X-Api-Key to this server only; the page forgets it when it is closed or reloaded. <a href="/openapi.json">openapi.json</a> has the same interface for tools.</p>
</header>
<div id="explorer"></div>
<noscript>This page needs JavaScript; <a href="/openapi.json">openapi.json</a> does not.</noscript>
<script>${SCRIPT}</script>
</body>
</html>
`;

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

  @Get('', publicly('a page that shows the document', { isForAll: true }))
  page(@Res() reply: FastifyReply): void {
    void reply.headers(EXPLORER_HEADERS).send(EXPLORER_PAGE);
  }

  @Get(':file', publicly('the files of that page', { isForAll: true }), { config: { countsAnswer: true } })
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
