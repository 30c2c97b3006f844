import { type DynamicModule, type INestApplication, Controller } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { PLATFORM_VERSION } from '#lib/config';
import { describeAll, type Descriptions, Described } from './operation.js';
import { completeDocument, type Document } from './complete-document.js';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { INSTALLATION } from '#lib/data-folder';
import { parseJson } from '#lib/json';
import { Get } from './route.js';
import { publicly } from './route-access.js';

/** The parts of @nestjs/swagger that are used beside its decorators. */
interface Swagger extends Descriptions {
  readonly DocumentBuilder: new () => DocumentBuilder;
  readonly SwaggerModule: { createDocument(application: INestApplication, about: object): Document };
}

interface DocumentBuilder {
  setTitle(title: string): this;
  setDescription(description: string): this;
  setVersion(version: string): this;
  setLicense(name: string, url: string): this;
  addServer(url: string): this;
  setOpenAPIVersion(version: string): this;
  addApiKey(scheme: object, name: string): this;
  addBearerAuth(scheme: object, name: string): this;
  addSecurityRequirements(requirements: object): this;
  build(): object;
}

/** A value and not a word of the import, so that programs compile where the package is not installed. */
const PACKAGE: string = '@nestjs/swagger';

/**
 * Builds the OpenAPI document of the api, in development: `docs/openapi.json` is made by it, and is the
 * document that is served.
 */
export class OpenApi {
  #document: Promise<object> | undefined;

  /** @param routes the module with its controllers; what they call is never asked for */
  constructor(private readonly routes: DynamicModule) {}

  document(): Promise<object> {
    this.#document ??= this.#build();
    return this.#document;
  }

  /**
   * Builds the document from the decorators alone: the application is only a preview, nothing in it is made
   * and nothing listens.
   */
  async #build(): Promise<object> {
    const swagger = (await import(PACKAGE)) as Swagger;
    describeAll(swagger);
    const { DocumentBuilder, SwaggerModule } = swagger;
    const about = new DocumentBuilder()
      .setTitle('Agentplane')
      .setDescription('Deployments of agents, their traces, and exports of them')
      .setVersion(PLATFORM_VERSION)
      .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
      .addServer('/')
      .setOpenAPIVersion('3.0.3')
      .addApiKey({ type: 'apiKey', in: 'header', name: 'X-Api-Key' }, 'ApiKey')
      .addApiKey(
        {
          type: 'apiKey',
          in: 'header',
          name: 'X-Tenant-Id',
          description: 'Id of the tenant; may be left out, since a key belongs to one tenant',
        },
        'TenantId',
      )
      .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'The API key' }, 'Bearer')
      .addSecurityRequirements({ ApiKey: [] })
      .addSecurityRequirements({ ApiKey: [], TenantId: [] })
      .addSecurityRequirements({ Bearer: [] })
      .build();
    const application = await NestFactory.create(this.routes, new FastifyAdapter(), {
      preview: true,
      logger: false,
      abortOnError: false,
    });
    return completeDocument(SwaggerModule.createDocument(application, about));
  }
}

/** Shows the document that was generated with this version; `npm run generate -- --check` holds it to the code. */
@Described(({ ApiExcludeController }) => ApiExcludeController())
@Controller()
export class OpenApiController {
  /** The same bytes for every caller: anyone may ask, without a key. */
  #document: Promise<Buffer> | undefined;

  @Get('openapi.json', publicly('the document is that of the installed version', { isForAll: true }), {
    sends: 'json',
    config: { countsAnswer: true },
  })
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
