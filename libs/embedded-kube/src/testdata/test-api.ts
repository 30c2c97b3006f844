import { afterAll, beforeAll } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, testPostgres } from '#lib/testing';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';
import { at, textAt } from '#lib/kube-semantics';
import type { ApiServer, ApiServerOptions } from '../api-server-options.js';
import { createApiServer } from '../create-api-server.js';

export interface ApiAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly body: unknown;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WatchedEvent {
  readonly type: string;
  readonly object: unknown;
}

/** A client that speaks plain HTTP to the server with the credentials of a kubeconfig. */
export class TestClient {
  readonly #agent: Agent;
  readonly #url: URL;
  readonly #token: string;

  constructor(kubeconfig: string) {
    const config: unknown = parse(kubeconfig);
    const user = at(config, 'users', 0, 'user');
    const pem = (...path: string[]) =>
      Buffer.from(
        textAt(
          config,
          path.map((step) => (/^\d$/.test(step) ? Number(step) : step)),
        ),
        'base64',
      );
    this.#token = textAt(user, ['token']);
    this.#url = new URL(textAt(config, ['clusters', 0, 'cluster', 'server']));
    this.#agent = new Agent({
      keepAlive: true,
      ca: pem('clusters', '0', 'cluster', 'certificate-authority-data'),
      ...(this.#token
        ? {}
        : {
            cert: pem('users', '0', 'user', 'client-certificate-data'),
            key: pem('users', '0', 'user', 'client-key-data'),
          }),
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  call(
    method: string,
    path: string,
    { body, type = 'application/json', accept = 'application/json', headers = {} }: CallOptions = {},
  ): Promise<ApiAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<ApiAnswer>();
    const bytes =
      body === undefined
        ? undefined
        : typeof body === 'string' || Buffer.isBuffer(body)
          ? body
          : JSON.stringify(body);
    const sent = request(
      {
        host: this.#url.hostname,
        port: this.#url.port,
        method,
        path,
        agent: this.#agent,
        headers: {
          accept,
          ...(bytes === undefined
            ? {}
            : { 'content-type': type, 'content-length': Buffer.byteLength(bytes) }),
          ...this.#authorization(),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ code: response.statusCode ?? 0, headers: response.headers, text, body: parsed(text) });
        });
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(bytes);
    return promise;
  }

  get(path: string): Promise<ApiAnswer> {
    return this.call('GET', path);
  }

  create(path: string, body: unknown): Promise<ApiAnswer> {
    return this.call('POST', path, { body });
  }

  merge(path: string, body: unknown): Promise<ApiAnswer> {
    return this.call('PATCH', path, { body, type: 'application/merge-patch+json' });
  }

  delete(path: string, body?: unknown): Promise<ApiAnswer> {
    return this.call('DELETE', path, { body });
  }

  /** A watch: what it has seen so far, and a way to end it. */
  watch(path: string, accept = 'application/json'): TestWatch {
    const events: WatchedEvent[] = [];
    const ended = Promise.withResolvers<void>();
    let rest = '';
    const sent = request(
      {
        host: this.#url.hostname,
        port: this.#url.port,
        path,
        agent: this.#agent,
        headers: { accept, ...this.#authorization() },
      },
      (response) => {
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) events.push(JSON.parse(line) as WatchedEvent);
        });
        response.on('close', () => ended.resolve());
        response.on('error', () => ended.resolve());
      },
    );
    sent.on('error', () => ended.resolve());
    sent.end();
    return { events, ended: ended.promise, end: () => void sent.destroy() };
  }

  #authorization(): Readonly<Record<string, string>> {
    return this.#token ? { authorization: `Bearer ${this.#token}` } : {};
  }
}

export interface TestWatch {
  readonly events: readonly WatchedEvent[];
  readonly ended: Promise<void>;
  end(): void;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface TestApi {
  /** The running server and its administrator; usable inside tests. */
  readonly server: ApiServer;
  readonly admin: TestClient;
  readonly databaseUri: string;
  readonly options: ApiServerOptions;
  /** The client of another user; closed after the tests. */
  client(kubeconfig: string): TestClient;
  /** Stops the server and starts another on the same data. */
  restart(change?: Partial<ApiServerOptions>): Promise<void>;
}

/** One API server on a Postgres of its own for the test file that calls this. */
export function testApi(given: Partial<ApiServerOptions> = {}): TestApi {
  const postgres = testPostgres();
  const folder = temporaryFolder();
  const clients: TestClient[] = [];
  let options: ApiServerOptions;
  let running: { server: ApiServer; admin: TestClient };

  async function start(): Promise<void> {
    const server = createApiServer(options);
    await server.start();
    const admin = new TestClient(await server.adminKubeconfig());
    clients.push(admin);
    running = { server, admin };
  }

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    options = { databaseUri: uri, port: 0, pkiFolder: folder, log: createLogger('kube', 'silent'), ...given };
    await start();
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await running.server.stop();
  });

  return {
    get server() {
      return running.server;
    },
    get admin() {
      return running.admin;
    },
    get options() {
      return options;
    },
    get databaseUri() {
      return options.databaseUri;
    },
    client(kubeconfig) {
      const client = new TestClient(kubeconfig);
      clients.push(client);
      return client;
    },
    async restart(change = {}) {
      running.admin.close();
      await running.server.stop();
      options = { ...options, ...change };
      await start();
    },
  };
}

/** A CRD for tests: `things.test.agentplane.dev`, open spec, status. */
export function thingCrd(extra: Readonly<Record<string, unknown>> = {}): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.test.agentplane.dev' },
    spec: {
      group: 'test.agentplane.dev',
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          },
          ...extra,
        },
      ],
    },
  };
}
