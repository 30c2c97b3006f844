import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Header } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { INSTALLATION } from '#lib/data-folder';
import { parseJson } from '#lib/json';
import { Described } from './described.js';

/** Shows the document that was generated with this version; `npm run generate -- --check` holds it to the code. */
@Described(({ ApiExcludeController }) => ApiExcludeController())
@Controller()
export class OpenApiController {
  /** The same bytes for every caller: anyone may ask, without a key. */
  #document: Promise<Buffer> | undefined;

  @Get('openapi.json')
  @RouteConfig({ countsAnswer: true })
  @Header('content-type', 'application/json; charset=utf-8')
  async document(): Promise<Buffer> {
    this.#document ??= this.#read();
    return this.#document;
  }

  async #read(): Promise<Buffer> {
    try {
      const text = await readFile(join(INSTALLATION, 'docs', 'openapi.json'), 'utf8');
      return Buffer.from(JSON.stringify(parseJson(text)));
    } catch (error) {
      // the next request tries again
      this.#document = undefined;
      throw error;
    }
  }
}
