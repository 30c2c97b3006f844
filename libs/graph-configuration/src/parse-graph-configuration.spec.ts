import { describe, expect, it } from '@jest/globals';
import { parseGraphConfiguration } from './parse-graph-configuration.js';
import { webhookHeaders, webhookVariables } from './parse-webhook-settings.js';

const GRAPHS = { agent: './src/agent.ts:graph' };
const parse = (more: object = {}): ReturnType<typeof parseGraphConfiguration> =>
  parseGraphConfiguration(JSON.stringify({ graphs: GRAPHS, ...more }));

describe('langgraph.json', () => {
  it('names graphs in Python by file or module', () => {
    const text = JSON.stringify({
      graphs: { a: './src/a.py:graph', b: 'pkg.agent:make' },
      dependencies: ['.', 'langchain-openai'],
      python_version: '3.12',
    });
    expect(parseGraphConfiguration(text, ['javascript', 'python'])).toMatchObject({
      language: 'python',
      graphs: [
        { graphId: 'a', file: './src/a.py', exportName: 'graph' },
        { graphId: 'b', file: 'pkg.agent', exportName: 'make' },
      ],
      notes: [],
    });
    expect(() => parseGraphConfiguration(text)).toThrow(/a\.py is Python/);
    const both = JSON.stringify({ graphs: { a: 'a.py:graph', b: 'b.ts:graph' } });
    expect(() => parseGraphConfiguration(both, ['javascript', 'python'])).toThrow(/a\.py is Python/);
  });

  it('names handlers and an app in the language of the graphs', () => {
    const graphs = { a: './a.py:graph' };
    const read = (more: object) => parseGraphConfiguration(JSON.stringify({ graphs, ...more }), ['python']);
    const priority = { path: './priority.py:priority' };
    expect(read({ auth: { path: './auth.py:auth' }, http: { app: 'pkg.app:app' }, priority })).toMatchObject({
      auth: { file: './auth.py', exportName: 'auth' },
      http: { app: { file: 'pkg.app', exportName: 'app' } },
      priority: { file: './priority.py', exportName: 'priority' },
    });
    for (const wrong of [{}, 'priority.py', { ...priority, weight: 1 }])
      expect(() => read({ priority: wrong })).toThrow('"priority"');
    expect(() => read({ auth: { path: './auth.ts:auth' } })).toThrow(/auth\.ts:auth names no Python object/);
    expect(() => read({ http: { app: './app.py' } })).toThrow(
      /"http\.app": \.\/app\.py names no Python object/,
    );
  });

  it('names graphs by file and export', () => {
    const graphs = { a: './src/a.ts:graph', b: { path: 'b.js', description: 'B' } };
    expect(parse({ graphs })).toEqual({
      language: 'javascript',
      graphs: [
        { graphId: 'a', file: './src/a.ts', exportName: 'graph' },
        { graphId: 'b', file: 'b.js', exportName: 'default', description: 'B' },
      ],
      env: undefined,
      store: { ttl: { refreshesOnRead: true, sweepIntervalMinutes: 5 } },
      webhooks: expect.objectContaining({ isDisabled: false, headers: {}, maxUrlLength: 2_048 }),
      threadTtl: expect.objectContaining({ defaultMinutes: undefined }),
      http: {
        app: undefined,
        disabled: new Set(),
        cors: undefined,
        configurableHeaders: { includes: undefined, excludes: [] },
        loggedHeaders: { includes: undefined, excludes: [] },
        mountPrefix: '',
      },
      ui: { entries: [], shared: [] },
      auth: undefined,
      notes: [],
    });
  });

  it.each([['.env'], [{ A: '1', B: '' }]])('takes variables from %j', (env) => {
    expect(parse({ env }).env).toEqual(env);
  });

  it('reads who says who calls', () => {
    const cache = { cache_keys: ['Authorization'], ttl_seconds: 5 };
    expect(parse({ auth: { path: './auth.ts:auth', disable_studio_auth: true, cache } }).auth).toEqual({
      file: './auth.ts',
      exportName: 'auth',
      admitsStudio: false,
      cache: { headers: ['authorization'], ttlSeconds: 5, maxSize: 1_000 },
    });
    expect(parse({ auth: { path: './auth.mjs' } }).auth).toEqual({
      file: './auth.mjs',
      exportName: 'default',
      admitsStudio: true,
      cache: undefined,
    });
  });

  it.each<[string, string]>([
    ['{', 'langgraph.json: it cannot be read as JSON'],
    ['[]', 'langgraph.json: it names no graph: it needs {"graphs": {"NAME": "FILE:EXPORT"}}'],
    ['{"graphs": {}}', 'langgraph.json: it names no graph: it needs {"graphs": {"NAME": "FILE:EXPORT"}}'],
  ])('refuses %s', (text, message) => {
    expect(() => parseGraphConfiguration(text)).toThrow(
      expect.objectContaining({ reason: 'GraphLoadFailed', message }),
    );
  });

  it.each<[object, RegExp]>([
    [{ graphs: { a: 3 } }, /graph "a" must be "FILE:EXPORT"/],
    [{ graphs: { a: 'a.py:graph' } }, /a\.py is Python/],
    [{ graphs: { a: 'pkg.agent:graph' } }, /pkg\.agent is Python/],
    [{ graphs: { a: './agent.rb:graph' } }, /agent\.rb is no TypeScript or JavaScript file/],
    [{ env: ['A'] }, /"env" must be the name of a file or an object of texts/],
    [{ env: { LANGGRAPH_AES_KEY: 'k' } }, /"env": LANGGRAPH_AES_KEY: states are stored as they are/],
    [
      { auth: { path: './auth.ts:auth', allow_langsmith_api_keys: true } },
      /"auth.allow_langsmith_api_keys": keys of the platform reach no agent with a handler/,
    ],
    [{ env: { A: 1 } }, /"env" must be the name of a file or an object of texts/],
    [{ auth: './auth.ts:auth' }, /"auth" must be an object/],
    [{ auth: { disable_studio_auth: true } }, /"auth.path" must be "FILE:EXPORT"/],
    [{ auth: { path: './auth.py:auth' } }, /"auth.path": .\/auth.py is Python/],
    [{ auth: { path: './auth.ts', disable_studio: true } }, /"auth": disable_studio is unknown/],
    [{ auth: { path: './auth.ts', disable_studio_auth: 'yes' } }, /"auth.disable_studio_auth" must be true/],
    [
      { auth: { path: './auth.ts', openapi: { schemes: {} } } },
      /"auth.openapi": schemes is unknown; use securitySchemes, security, paths/,
    ],
    [
      { auth: { path: './auth.ts', openapi: { security: [{ OAuth: [] }] } } },
      /asks for OAuth, which "securitySchemes" does not have/,
    ],
    [
      { auth: { path: './auth.ts', openapi: { paths: { '/runs': [] } } } },
      /"auth.openapi.paths" must be lists/,
    ],
    [{ auth: { path: './auth.ts', cache: { cache_keys: [] } } }, /"auth.cache.cache_keys" must be a list/],
    [{ auth: { path: './auth.ts', cache: { cache_keys: ['a'], ttl: 1 } } }, /"auth.cache": ttl is unknown/],
    [
      { auth: { path: './auth.ts', cache: { cache_keys: ['a'], ttl_seconds: 0 } } },
      /"auth.cache.ttl_seconds" must be a number from 1 to 86400/,
    ],
    [{ http: { app: './app.py:app' } }, /"http.app": .\/app.py is Python/],
    [{ http: { app: {} } }, /"http": app must be "FILE:EXPORT"/],
    [
      { http: { app: './a.ts', middleware_order: 'last' } },
      /middleware_order must be one of auth_first, mid/,
    ],
    [{ http: { disable_thread: true } }, /"http": disable_thread cannot be served/],
    [{ http: [] }, /"http": it must be an object/],
    [{ http: { cors: true } }, /"http": cors must be an object/],
    [{ http: { cors: { allow_origin: ['*'] } } }, /cors\.allow_origin is not a known setting/],
    [{ http: { cors: { allow_origins: ['null'] } } }, /cors\.allow_origins must be a list of origins/],
    [
      { http: { cors: { allow_origins: ['*'], allow_credentials: true } } },
      /cannot be used with the origin "\*"/,
    ],
    [{ http: { cors: { expose_headers: ['a\r\nb: c'] } } }, /cors\.expose_headers must be a list of names/],
    [{ http: { cors: { max_age: -1 } } }, /cors\.max_age must be a whole number of seconds/],
    [
      { http: { configurable_headers: { includes: 'x-*' } } },
      /configurable_headers\.includes must be a list/,
    ],
    [{ http: { logging_headers: { only: [] } } }, /logging_headers\.only is not a known setting/],
    ...['team', '/team/', '//team', '/a/../b', '/a b', '/a%2f', '/.', '/a?b'].map(
      (mount_prefix): [object, RegExp] => [{ http: { mount_prefix } }, /mount_prefix must be a path such as/],
    ),
    [{ http: { disable_a2a: 'yes' } }, /"http": disable_a2a must be true or false/],
    [{ ui: './ui.tsx' }, /"ui": it must be an object such as/],
    [{ ui: { agent: './ui.py' } }, /"ui": agent must be a TypeScript or JavaScript file, for example/],
    [{ ui: { agent: '../ui.tsx' } }, /"ui": agent: \.\.\/ui\.tsx must lie in the folder/],
    [{ ui: { agent: '/etc/ui.tsx' } }, /"ui": agent: \/etc\/ui\.tsx must lie in the folder/],
    ...['', '.', '..', 'a/b', 'a\\b', 'a?b', 'a%2fb', 'a\u0000b'].map((name): [object, RegExp] => [
      { ui: { [name]: './ui.tsx' } },
      /"ui": ".*" cannot be part of an address/,
    ]),
    [{ ui_config: [] }, /"ui_config": it must be an object such as/],
    [{ ui_config: { share: [] } }, /"ui_config": share is not a known setting/],
    [{ ui_config: { shared: 'recharts' } }, /"ui_config": shared must be a list of names of packages/],
    [{ ui_config: { shared: ['./a'] } }, /"ui_config": shared must be a list of names of packages/],
    [{ store: { index: {} } }, /"store": index\.dims is missing, index\.embed is missing/],
    [{ store: { index: { dims: 0, embed: 'x' } } }, /index\.dims must be a whole .*index\.embed must be/],
    [{ store: { index: { dims: 3, embed: './e.py:f' } } }, /index\.embed names a Python file/],
    [{ store: { index: { dims: 3, embed: 'a:b', fields: [] } } }, /index\.fields must be a list/],
    [{ store: { ttl: { default_ttl: '5', refresh: true } } }, /ttl\.default_ttl must .*ttl\.refresh is not/],
    [{ store: { path: './store.ts:store', x: 1 } }, /path cannot be used.*x is not a known setting/],
    [{ checkpointer: { path: './a.ts:b' } }, /"checkpointer": path cannot be used: checkpoints are kept/],
    [{ checkpointer: { ttl: { strategy: 'archive' } } }, /ttl\.strategy must be "delete" or "keep_latest"/],
    [
      { checkpointer: { ttl: { default_ttl: 0, sweep_limit: 1.5, a: 1 } } },
      /default_ttl .*sweep_limit .*ttl\.a/,
    ],
    [{ webhooks: { url: { require_http: true } } }, /"webhooks": url: require_http is not a known setting/],
    [{ webhooks: { headers: { 'webhook-id': 'x' } } }, /"webhooks": headers: "webhook-id" cannot be set/],
    [{ webhooks: { headers: { a: 'b\r\nc: d' } } }, /"webhooks": headers: a must be one line of text/],
    [
      { webhooks: { headers: { a: '${{ env.HOME }}' } } },
      /a names HOME, which does not begin with LG_WEBHOOK_/,
    ],
    [{ webhooks: { url: { allowed_ports: ['443'] } } }, /url\.allowed_ports is not a list of ports/],
    [{ checkpointer: { backend: 'mongo' } }, /"checkpointer": backend cannot be used/],
    [
      { webhooks: { allowed_fields: ['run'] } },
      /"webhooks": allowed_fields: \["run"\] must be among run_id,/,
    ],
    [{ webhooks: { url: { max_url_length: 0 } } }, /url\.max_url_length must be a whole number above 0/],
    [{ dependencies: ['.', 'langchain'] }, /"dependencies": langchain cannot be installed/],
    [{ store: [], ui: [] }, /"store": .*; "ui": /],
  ])('refuses %j', (more, message) => {
    expect(() => parse(more)).toThrow(message);
  });

  it('names lines of a Dockerfile and versions of Node that it leaves aside', () => {
    const lines = ['# browsers', 'RUN npx playwright install', 'RUN pip install a'];
    expect(parse({ dockerfile_lines: lines, node_version: '18' }).notes).toEqual([
      '"dockerfile_lines" of langgraph.json has no effect: it belongs to builds of container images; install here what these lines install: RUN npx playwright install; pip install a',
      '"node_version" of langgraph.json has no effect: agents run on Node 24',
    ]);
  });

  it('installs the packages of Python that lines of a Dockerfile install', () => {
    const text = JSON.stringify({
      graphs: { agent: './a.py:graph' },
      dependencies: ['.'],
      dockerfile_lines: [
        'RUN pip install --no-cache-dir "a>=1,<2" b[c]',
        'ENV A=b',
        'RUN pip install -r x.txt',
      ],
    });
    const { python, notes } = parseGraphConfiguration(text, ['javascript', 'python']);
    expect(python?.packages).toEqual(['a>=1,<2', 'b[c]']);
    expect(notes.join()).toMatch(/install: ENV A=b; RUN pip install -r x\.txt$/);
  });

  it('takes components and what pages share with them', () => {
    const ui = { agent: './src/ui.tsx', charts: 'charts.jsx' };
    expect(parse({ ui, ui_config: { shared: ['recharts', '@scope/a/b'] } })).toMatchObject({
      ui: {
        entries: [
          { name: 'agent', file: './src/ui.tsx' },
          { name: 'charts', file: 'charts.jsx' },
        ],
        shared: ['recharts', '@scope/a/b'],
      },
      notes: [],
    });
    expect(parse({ ui_config: {} }).notes).toEqual([
      '"ui_config" of langgraph.json has no effect: "ui" names no components',
    ]);
  });

  it('takes how the store lives and is searched', () => {
    const index = { dims: 3, embed: './embed.ts:embed' };
    const ttl = { default_ttl: 1.5, refresh_on_read: false, sweep_interval_minutes: 1 };
    expect(parse({ store: { index, ttl } })).toMatchObject({
      store: {
        index: {
          dims: 3,
          embed: './embed.ts:embed',
          fields: ['$'],
          source: { file: './embed.ts', exportName: 'embed' },
        },
        ttl: { defaultMinutes: 1.5, refreshesOnRead: false, sweepIntervalMinutes: 1 },
      },
    });
  });

  it('takes how long threads live', () => {
    const ttl = { strategy: 'keep_latest', default_ttl: 60, sweep_interval_minutes: 0.5, sweep_limit: 10 };
    expect(parse({ checkpointer: { ttl } }).threadTtl).toEqual({
      strategy: 'keep_latest',
      defaultMinutes: 60,
      sweepIntervalMinutes: 0.5,
      sweepLimit: 10,
    });
    expect(parse({ checkpointer: { backend: 'default' } }).threadTtl).toMatchObject({
      strategy: 'delete',
      sweepLimit: 1_000,
    });
  });

  it('says which routes are switched off', () => {
    const http = { disable_mcp: true, disable_threads: true, disable_a2a: false, disable_meta: null };
    expect(parse({ http }).http.disabled).toEqual(new Set(['threads', 'mcp']));
  });

  it('takes an HTTP app', () => {
    const http = { app: './app.ts:app', middleware_order: 'auth_first', enable_custom_route_auth: true };
    expect(parse({ http }).http.app).toEqual({
      file: './app.ts',
      exportName: 'app',
      authenticatesRoutes: true,
      isAuthFirst: true,
    });
    expect(parse({ http: { ...http, app: null } }).notes).toEqual([
      '"http" of langgraph.json has no effect: middleware_order, enable_custom_route_auth without an app',
    ]);
  });

  it('takes who may read answers, and which headers are seen', () => {
    const cors = {
      allow_origins: ['https://Pages.test'],
      allow_methods: ['GET'],
      allow_headers: ['*'],
      allow_credentials: true,
      max_age: 5,
    };
    const headers = { include: ['X-A'], excludes: ['x-*'] };
    const { http, notes } = parse({
      http: { cors, configurable_headers: headers, logging_headers: {}, mount_prefix: '/a/b.c' },
    });
    expect(http).toMatchObject({
      cors: {
        origins: ['https://pages.test'],
        originPattern: undefined,
        methods: ['GET'],
        headers: ['*'],
        exposedHeaders: [],
        allowsCredentials: true,
        maxAgeSeconds: 5,
      },
      configurableHeaders: { includes: ['x-a'], excludes: ['x-*'] },
      loggedHeaders: { includes: undefined, excludes: [] },
      mountPrefix: '/a/b.c',
    });
    expect(notes).toEqual([
      '"http" of langgraph.json has no effect: logging_headers includes no header, and none is logged otherwise',
    ]);
  });

  it('takes the settings of webhooks', () => {
    const url = {
      require_https: true,
      allowed_domains: ['Hooks.example.com', '*.example.org'],
      allowed_ports: [443],
      disable_loopback: true,
      disable_private_ips: true,
      max_url_length: 100,
    };
    const headers = { authorization: 'Bearer ${{ env.MY_TOKEN }}', 'x-a': '${{env.MY_A}}${{ env.MY_B }}' };
    const { webhooks } = parse({
      webhooks: { env_prefix: 'MY_', headers, url, allowed_fields: ['run_id'] },
      http: { disable_webhooks: true },
    });
    expect(webhooks).toEqual({
      isDisabled: true,
      headers,
      envPrefix: 'MY_',
      requiresHttps: true,
      allowedDomains: ['hooks.example.com', '*.example.org'],
      allowedPorts: [443],
      disablesLoopback: true,
      disablesPrivate: true,
      maxUrlLength: 100,
      allowedFields: ['run_id'],
    });
    expect(webhookVariables(webhooks)).toEqual(['MY_TOKEN', 'MY_A', 'MY_B']);
    expect(webhookHeaders(webhooks, { MY_TOKEN: 't', MY_A: 'a', MY_B: '$&' })).toEqual({
      authorization: 'Bearer t',
      'x-a': 'a$&',
    });
  });

  it('lets through what others need, and names what has no effect', () => {
    const { notes } = parse({
      $schema: 'https://example.com/schema.json',
      node_version: '22',
      dependencies: ['.'],
      dockerfile_lines: [],
      auth: null,
      http: { disable_mcp: true, app: null },
      python_version: '3.12',
      enviroment: 'x',
      ['__proto__x']: 1,
    });
    expect(notes).toEqual([
      '"python_version" of langgraph.json has no effect: it belongs to Python graphs',
      '"enviroment" of langgraph.json has no effect: it is not a known setting',
      '"__proto__x" of langgraph.json has no effect: it is not a known setting',
    ]);
  });
});
