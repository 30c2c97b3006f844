import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get } from '@nestjs/common';
import { INSTALLATION } from '#lib/data-folder';
import { Described } from './described.js';

/** Shows the document that was generated with this version; `npm run generate -- --check` holds it to the code. */
@Described(({ ApiExcludeController }) => ApiExcludeController())
@Controller()
export class OpenApiController {
  @Get('openapi.json')
  async document(): Promise<object> {
    return JSON.parse(await readFile(join(INSTALLATION, 'docs', 'openapi.json'), 'utf8')) as object;
  }
}
