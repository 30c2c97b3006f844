import 'reflect-metadata';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { ApiModule } from '../api-module.js';
import { AgentRoutes } from '../route/agent-routes.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { type ApiDocument, undocumentedIn } from '../testdata/check-exchange.js';
import { routeAccess, routeName } from './route-access.js';
import { OpenApi, OpenApiController } from './openapi.js';

/** `GET /v2/deployments/{deployment_id}` of every route that the router knows. */
async function routesOfRouter(): Promise<string[]> {
  const adapter = new FastifyAdapter();
  const routes: string[] = [];
  adapter.getInstance().addHook('onRoute', ({ method, url }) => {
    // the router adds HEAD to every GET by itself
    for (const one of [method].flat())
      if (one !== 'HEAD') routes.push(`${one} ${url.replace(/:([a-z_]+)/g, '{$1}')}`);
  });
  const module = await Test.createTestingModule({ imports: [ApiModule.routes()] })
    .overrideProvider(Workspaces)
    .useValue({})
    .overrideProvider(AgentRoutes)
    .useValue({})
    .compile();
  const application = module.createNestApplication(adapter);
  await application.init();
  await application.close();
  return routes.sort();
}

function eachSchema(value: unknown, visit: (schema: Record<string, unknown>) => void): void {
  if (Array.isArray(value)) for (const item of value) eachSchema(item, visit);
  else if (typeof value === 'object' && value !== null) {
    visit(value as Record<string, unknown>);
    for (const member of Object.values(value)) eachSchema(member, visit);
  }
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly items?: Schema;
  readonly example?: unknown;
}

function jsonOf(part: unknown): { readonly schema: Schema; readonly example?: unknown } | undefined {
  const { content } = (part ?? {}) as {
    readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  return content?.['application/json'];
}

/** Need no key and refuse who is not who they say: their bodies are signed. */
const SIGNED = new Set(['POST /v1/integrations/git_host/{integration_id}/webhook/{tenant_id}']);

/** Names of all classes of requests and answers in the sources of the api. */
function namesOfShapes(): string[] {
  const sources = resolve(import.meta.dirname, '..');
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((path) => /-(?:answer|request)\.ts$/.test(path))
    .flatMap((path) => readFileSync(join(sources, path), 'utf8').match(/^export class \w+/gm) ?? []);
}

describe('OpenAPI document', () => {
  let document: OpenAPIObject;
  let operations: [string, Record<string, unknown>][];

  beforeAll(async () => {
    document = (await new OpenApi(ApiModule.routes()).document()) as OpenAPIObject;
    operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): [string, Record<string, unknown>] => [
        `${method.toUpperCase()} ${path}`,
        operation as Record<string, unknown>,
      ]),
    );
  });

  it('has every route of the router, and no other', async () => {
    const routes = await routesOfRouter();
    expect(routes.length).toBeGreaterThan(40);
    // the document itself is not a part of the interface, nor is the page that shows it
    const shown = ['GET /openapi.json', 'GET /docs', 'GET /docs/{file}'];
    expect(routes).toEqual(expect.arrayContaining(shown));
    expect(operations.map(([route]) => route).sort()).toEqual(
      routes.filter((route) => !shown.includes(route)),
    );
  });

  it('refers to every schema that it has, and to no other', () => {
    const used = new Set<string>();
    eachSchema(document, ({ $ref }) => typeof $ref === 'string' && used.add($ref));
    const there = Object.keys(document.components?.schemas ?? {}).map(
      (name) => `#/components/schemas/${name}`,
    );
    expect([...used].sort()).toEqual(there);
  });

  it('describes of every route what it does and what it answers', () => {
    for (const [route, operation] of operations) {
      expect([route, operation['summary']]).toEqual([route, expect.stringMatching(/^[A-Z]/)]);
      const responses = operation['responses'] as Record<string, { readonly content?: object }>;
      const answers = Object.entries(responses).filter(([status]) => status.startsWith('2'));
      // a form is answered by the address of a page
      if (answers.length === 0 && '303' in responses) continue;
      expect([route, answers.length]).toEqual([route, 1]);
      const [[status, answer] = ['', {}]] = answers;
      expect([route, status === '204' || answer.content !== undefined]).toEqual([route, true]);
    }
  });

  it('shows an example of every body, and of every refusal, that its schema allows', () => {
    const { schemas = {} } = document.components ?? {};
    const exampleOf = (schema: Schema | undefined): unknown => {
      if (schema?.$ref === undefined) return schema?.items ? [exampleOf(schema.items)] : schema?.type;
      return (schemas[schema.$ref.replace('#/components/schemas/', '')] as Schema | undefined)?.example;
    };
    const problems = operations.flatMap(([route, { requestBody, responses }]) => {
      const [method = '', path = ''] = route.split(' ');
      const body = exampleOf(jsonOf(requestBody)?.schema);
      return Object.entries(responses as object).flatMap(([status, response]) => {
        const json = jsonOf(response);
        if (!json || status === 'default') return [];
        const answer = json.example ?? exampleOf(json.schema);
        const exchange = { method, path, body, status: Number(status), answer };
        return undocumentedIn(document as unknown as ApiDocument, exchange);
      });
    });
    expect(problems).toEqual([]);
    for (const [name, schema] of Object.entries(schemas))
      expect([name, (schema as Schema).example]).toEqual([name, expect.anything()]);
  });

  it('names the refusals of every operation: of what it takes, and of what is not there', () => {
    for (const [route, { requestBody, responses }] of operations) {
      const statuses = Object.keys(responses as object);
      expect([route, statuses.some((status) => status.startsWith('4'))]).toEqual([route, true]);
      if (route.includes('{')) expect([route, statuses]).toEqual([route, expect.arrayContaining(['404'])]);
      if (requestBody)
        expect([route, statuses.includes('400') || statuses.includes('422')]).toEqual([route, true]);
    }
  });

  it('gives every shape a name of its own, since one of two would show the other', () => {
    const names = namesOfShapes();
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('gives every operation an id of its own', () => {
    const ids = operations.map(([, operation]) => String(operation['operationId']));
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[A-Z][A-Za-z]+_[a-zA-Z]+(_v1)?$/);
  });

  it('asks for a key on every route but the public ones', () => {
    expect(document.security).toEqual([{ ApiKey: [] }, { ApiKey: [], TenantId: [] }, { Bearer: [] }]);
    for (const [route, { security, responses }] of operations) {
      const [method = '', path = ''] = route.split(' ');
      const isOpen = routeAccess().get(routeName(method, path))?.kind === 'public';
      expect([route, security]).toEqual([route, isOpen ? [] : undefined]);
      expect([route, '401' in (responses as object)]).toEqual([route, !isOpen || SIGNED.has(route)]);
    }
  });

  it('names fields in snake_case, except where they are those of Kubernetes or of a client', () => {
    const kubernetes = ['Volume', 'VolumeMount', 'Container', 'EnvVar'].map((name) => `${name}Request`);
    const otlp = [
      'ExportTracesRequest',
      'ExportTracesAnswer',
      'PartialSuccessAnswer',
      'ExportOthersAnswer',
      'IgnoredAnswer',
    ];
    const s3 = ['S3ArgumentsRequest', 'S3ArgumentsAnswer'];
    const wrong = Object.entries(document.components?.schemas ?? {})
      .filter(
        ([name]) => ![...kubernetes, ...otlp, ...s3].includes(name) && !name.endsWith('MultipartRequest'),
      )
      .flatMap(([name, schema]) =>
        Object.keys('properties' in schema ? (schema.properties ?? {}) : {}).map(
          (field) => `${name}.${field}`,
        ),
      )
      .filter((field) => !/\.[a-z][a-z0-9_]*$/.test(field));
    // as the JavaScript client and Iceberg spell them
    expect(wrong).toEqual(['CreateFeedbackRequest.feedbackConfig', 'TableAnswer.metadata-location']);
  });

  it('renders the same document every time', async () => {
    expect(await new OpenApi(ApiModule.routes()).document()).toEqual(document);
  });

  it('reads the document once for all callers', async () => {
    const shown = new OpenApiController();
    expect(await shown.document()).toBe(await shown.document());
  });
});
