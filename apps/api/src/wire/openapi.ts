import type { DynamicModule, INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { PLATFORM_VERSION } from '#lib/config';
import { describeAll, type Descriptions } from './described.js';
import { completeDocument, type Document } from './complete-document.js';

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
  readonly #routes: DynamicModule;
  #document: Promise<object> | undefined;

  /** @param routes the module with its controllers; what they call is never asked for */
  constructor(routes: DynamicModule) {
    this.#routes = routes;
  }

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
    const application = await NestFactory.create(this.#routes, new FastifyAdapter(), {
      preview: true,
      logger: false,
      abortOnError: false,
    });
    return completeDocument(SwaggerModule.createDocument(application, about));
  }
}
