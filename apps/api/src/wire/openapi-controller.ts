import { Controller, Get } from '@nestjs/common';
import { OpenApi } from './openapi.js';
import { Described } from './described.js';

@Described(({ ApiExcludeController }) => ApiExcludeController())
@Controller()
export class OpenApiController {
  constructor(private readonly openApi: OpenApi) {}

  @Get('openapi.json')
  document(): Promise<object> {
    return this.openApi.document();
  }
}
