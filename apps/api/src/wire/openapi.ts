import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { loadDescriptions } from './described.js';
import { completeDocument } from './complete-document.js';

/** Version of the interface that the document describes; the platform has one of its own. */
const INTERFACE_VERSION = '0.1.0';

/** The OpenAPI document of the api, built when it is first asked for. */
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

  /** From the decorators alone: the application is only a preview, nothing in it is made and nothing listens. */
  async #build(): Promise<object> {
    const { DocumentBuilder, SwaggerModule } = await loadDescriptions();
    const about = new DocumentBuilder()
      .setTitle('Agentplane')
      .setDescription('Deployments of agents, their traces, and exports of them')
      .setVersion(INTERFACE_VERSION)
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
      .addSecurityRequirements({ ApiKey: [] })
      .addSecurityRequirements({ ApiKey: [], TenantId: [] })
      .build();
    const application = await NestFactory.create(this.#routes, new FastifyAdapter(), {
      preview: true,
      logger: false,
      abortOnError: false,
    });
    return completeDocument(SwaggerModule.createDocument(application, about));
  }
}
