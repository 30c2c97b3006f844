import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { deploymentBody } from '../testdata/deployment-body.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

const gitBody = (repository: string) => ({
  name: `git-${randomUUID()}`,
  source: 'git_host',
  secrets: [],
  source_config: { repo_url: repository },
  source_revision_config: { repo_ref: 'refs/tags/v1.2.x/y', graph_config_path: 'a/..b/langgraph.json' },
});

describe('a request for a deployment', () => {
  const { api, tenant } = testApi();

  it('reports every wrong field at once', async () => {
    const wrong = {
      name: '',
      source: 'floppy',
      source_config: {
        resource_spec: { cpu: 0.05, max_scale: 1.5, volumes: [{ name: 'UPPER' }], unknown: 1 },
      },
      source_revision_config: { image_uri: 5 },
      secrets: [{ name: 'A' }, 'x'],
      id: randomUUID(),
      status: 'READY',
    };
    const answer = await tenant.call('POST', '/v2/deployments', wrong, { prefer: 'handling=strict' });
    expect(answer.status).toBe(422);
    expect(problemsIn(answer).sort()).toEqual(
      [
        'body.id extra_forbidden',
        'body.name string_too_short',
        'body.secrets.1 model_type',
        'body.source enum',
        'body.source_config.resource_spec.cpu greater_than_equal',
        'body.source_config.resource_spec.max_scale int_type',
        'body.source_config.resource_spec.unknown extra_forbidden',
        'body.source_config.resource_spec.volumes.0.name string_pattern_mismatch',
        'body.source_revision_config.image_uri string_type',
        'body.status extra_forbidden',
      ].sort(),
    );
    expect(problemsIn(await tenant.call('POST', '/v2/deployments', {})).sort()).toEqual([
      'body.name missing',
      'body.source missing',
      'body.source_config missing',
      'body.source_revision_config missing',
    ]);
  });

  const LONG = 'x'.repeat(1024);
  const container = (over: object) => ({ name: 'c', image: 'i', ...over });
  const variables = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `V${i}` }));
  const labels = (count: number) => Object.fromEntries(variables(count).map(({ name }) => [name, 'x']));

  it.each<[string, object, object, string]>([
    ['labels', { labels: labels(64) }, { labels: labels(65) }, 'labels too_long'],
    [
      'the value of a label',
      { labels: { a: 'x'.repeat(63) } },
      { labels: { a: 'x'.repeat(64) } },
      'labels string_too_long',
    ],
    [
      'the image of a container',
      { sidecars: [container({ image: LONG })] },
      { sidecars: [container({ image: `${LONG}x` })] },
      'sidecars.0.image string_too_long',
    ],
    [
      'variables of a container',
      { sidecars: [container({ env: variables(128) })] },
      { sidecars: [container({ env: variables(129) })] },
      'sidecars.0.env too_long',
    ],
    [
      'the name of a variable',
      { sidecars: [container({ env: [{ name: 'A'.repeat(256) }] })] },
      { sidecars: [container({ env: [{ name: 'a-b' }] })] },
      'sidecars.0.env.0.name string_pattern_mismatch',
    ],
    [
      'an argument of a container',
      { sidecars: [container({ args: ['x'.repeat(32_768)] })] },
      { sidecars: [container({ args: ['x'.repeat(32_769)] })] },
      'sidecars.0.args string_too_long',
    ],
    [
      'the path of a volume',
      { volumes: [{ name: 'v', emptyDir: {} }], volume_mounts: [{ name: 'v', mountPath: LONG }] },
      { volumes: [{ name: 'v', emptyDir: {} }], volume_mounts: [{ name: 'v', mountPath: `${LONG}x` }] },
      'volume_mounts.0.mountPath string_too_long',
    ],
    ['storage', { db_storage_gi: 65_536 }, { db_storage_gi: 65_537 }, 'db_storage_gi less_than_equal'],
  ])('takes %s up to the bound and refuses what is beyond it', async (_what, within, beyond, problem) => {
    const ask = (spec: object) =>
      tenant.call('POST', '/v2/deployments', deploymentBody({ source_config: { resource_spec: spec } }));
    const [taken, refused] = [await ask(within), await ask(beyond)];
    expect([taken.status, taken.json?.detail]).toEqual([201, undefined]);
    expect([refused.status, problemsIn(refused)]).toEqual([
      422,
      [`body.source_config.resource_spec.${problem}`],
    ]);
  });

  it('reports problems that only the API server finds in the same shape', async () => {
    const before = (await api.client.list(SECRETS, { namespace: tenant.namespace })).items.length;
    const answer = await tenant.call(
      'POST',
      '/v2/deployments',
      deploymentBody({
        source_config: { repo_url: 'https://x/y', resource_spec: { cpu: 4, cpu_limit: 1 } },
        secrets: [{ name: 'A', value: 'b' }],
      }),
    );
    expect(answer.status).toBe(422);
    const reported = answer.json.detail.map(
      (one: { loc: string[]; msg: string }) => `${one.loc.join('.')}: ${one.msg}`,
    );
    expect(reported).toEqual(
      expect.arrayContaining([
        'body.source_config.repo_url: source_config.repo_url is only for source git_host',
        'body.source_config.resource_spec.cpu: cpu must not be greater than cpuLimit',
      ]),
    );
    expect((await api.client.list(SECRETS, { namespace: tenant.namespace })).items).toHaveLength(before);
  });

  const pod = 'body.source_config.resource_spec.';

  it.each<[string, object, string]>([
    [
      'a typo in a volume',
      { volumes: [{ name: 'a', configMap: { nam: 'x' } }] },
      'volumes.0.configMap.nam: unknown field',
    ],
    [
      'a typo in an affinity',
      { affinity: { nodeAffinity: { required: {} } } },
      'affinity.nodeAffinity.required: unknown field',
    ],
    [
      'a typo in a security context',
      { sidecars: [container({ securityContext: { privilegedd: true } })] },
      'sidecars.0.securityContext.privilegedd: unknown field',
    ],
    [
      'a variable of an unknown kind',
      { sidecars: [container({ env: [{ name: 'A', valueFrom: { fooRef: {} } }] })] },
      'sidecars.0.env.0.valueFrom.fooRef: unknown field',
    ],
    [
      'two mounts at one path',
      {
        volumes: [{ name: 'a', emptyDir: {} }],
        volume_mounts: [
          { name: 'a', mountPath: '/a' },
          { name: 'a', mountPath: '/a' },
        ],
      },
      'volume_mounts.1: Duplicate value: {"mountPath":"/a"}',
    ],
    [
      'a ConfigMap without a name',
      { volumes: [{ name: 'a', configMap: {} }] },
      'volumes.0.configMap.name: Required value',
    ],
    ['a key of a label that is no name', { labels: { 'no name': 'x' } }, 'labels: must have qualified names'],
    [
      'a quantity that is none',
      { sidecars: [container({ resources: { limits: { cpu: 'two' } } })] },
      'sidecars.0.resources.limits.cpu: Invalid value: "two"',
    ],
    [
      'a request of the queue above its limit',
      { cpu: 2, queue_cpu_limit: 1 },
      'cpu: cpu must not be greater than queueCpuLimit while queueCpu is unset',
    ],
  ])('refuses %s when it is made and when it is changed', async (_what, resource_spec, problem) => {
    const change = { source_config: { resource_spec } };
    const made = await tenant.call('POST', '/v2/deployments', deploymentBody());
    for (const answer of [
      await tenant.call('POST', '/v2/deployments', deploymentBody(change)),
      await tenant.call('PATCH', `/v2/deployments/${made.json.id}`, change),
    ]) {
      const told = answer.json.detail.map(
        (one: { loc: string[]; msg: string }) => `${one.loc.join('.')}: ${one.msg}`,
      );
      expect([answer.status, told]).toEqual([422, [expect.stringContaining(`${pod}${problem}`)]]);
    }
  });

  it('refuses containers that are restarted on failure only', async () => {
    const of = (restartPolicy: string) =>
      deploymentBody({
        source_config: { resource_spec: { sidecars: [{ name: 'c', image: 'i', restartPolicy }] } },
      });
    const refused = await tenant.call('POST', '/v2/deployments', of('OnFailure'));
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.json)).toContain('restartPolicy OnFailure is not supported in sidecars');
    expect((await tenant.call('POST', '/v2/deployments', of('Always'))).status).toBe(201);
  });

  it('names fields that have no effect in the header Warning of the answer to each change', async () => {
    const resource_spec = {
      db_storage_gi: 5,
      cache_memory_mb: 64,
      orchestrator_cpu: 1,
      executor_cpu: 1,
      memory_mb: 512,
    };
    const made = await tenant.call(
      'POST',
      '/v2/deployments',
      deploymentBody({ source_config: { resource_spec, build_command: 'make' } }),
    );
    const warning =
      '299 - "cache_memory_mb has no effect: a deployment has no cache of its own; ' +
      'db_storage_gi has no effect: the database lies on a Postgres server that the platform shares or was given; ' +
      'executor_cpu, orchestrator_cpu have no effect: the platform has no such workload; ' +
      'build_command has no effect: an image is installed and built already"';
    const path = `/v2/deployments/${made.json.id}`;
    const patch = (spec: object) => tenant.call('PATCH', path, { source_config: { resource_spec: spec } });
    expect([made.status, made.headers['warning']]).toEqual([201, warning]);
    expect((await patch(resource_spec)).headers['warning']).toBe(warning);
    expect((await patch({ memory_mb: 256 })).headers['warning']).toMatch(/^299 - "build_command has/);
    expect((await tenant.call('GET', path)).headers['warning']).toBeUndefined();
  });

  it.each<[string, unknown, number]>([
    ['no JSON', '{"name": ', 422],
    ['an array', [], 422],
    ['a text', '"x"', 422],
    ['nothing', undefined, 422],
    ['JSON nested too deeply', '{"a":'.repeat(100) + '1' + '}'.repeat(100), 422],
    ['a member named __proto__', '{"__proto__": {"name": "x"}}', 422],
    ['more than a megabyte', JSON.stringify({ name: 'x'.repeat(1_100_000) }), 413],
  ])('refuses %s', async (_name, sent, status) => {
    expect(
      (await tenant.call('POST', '/v2/deployments', sent, { 'content-type': 'application/json' })).status,
    ).toBe(status);
  });

  it('refuses lists where objects should be, and fields named as members of every object', async () => {
    const strictly = { prefer: 'handling=strict' };
    for (const name of ['hasOwnProperty', 'toString', 'constructor']) {
      const sent = JSON.stringify(deploymentBody()).replace('{', `{${JSON.stringify(name)}:1,`);
      expect((await tenant.call('POST', '/v2/deployments', sent, strictly)).status).toBe(422);
      const inside = JSON.stringify(deploymentBody({ source_config: { resource_spec: { cpu: 1 } } }));
      const odd = inside.replace('"cpu":1', `"cpu":1,${JSON.stringify(name)}:{}`);
      expect((await tenant.call('POST', '/v2/deployments', odd, strictly)).status).toBe(422);
    }
    for (const secrets of [[[]], [null], [[{ name: 'A', value: 'b' }]]])
      expect((await tenant.call('POST', '/v2/deployments', deploymentBody({ secrets }))).status).toBe(422);
  });

  it.each([
    ['a NUL', 'a\\u0000b'],
    ['half a character', 'a\\ud800b'],
  ])('refuses text with %s', async (_what, text) => {
    for (const sent of [
      deploymentBody({ name: 'HERE' }),
      deploymentBody({ source_revision_config: { image_uri: 'HERE' } }),
      deploymentBody({ secrets: [{ name: 'A', value: 'HERE' }] }),
    ]) {
      const answer = await tenant.call('POST', '/v2/deployments', JSON.stringify(sent).replace('HERE', text));
      expect([answer.status, answer.json.detail]).toEqual([422, [expect.anything()]]);
    }
  });

  it.each(['x\ny', '$(id)', '--help', '../../etc', 'a b'])('refuses the image %j', async (name) => {
    const sent = deploymentBody({ source_revision_config: { image_uri: name } });
    expect(problemsIn(await tenant.call('POST', '/v2/deployments', sent))).toEqual([
      'body.source_revision_config.image_uri string_pattern_mismatch',
    ]);
  });

  it('refuses a stream as a body and serves the next request', async () => {
    const boundary = { 'content-type': 'multipart/form-data; boundary=x' };
    const sent = '--x\r\ncontent-disposition: form-data; name="name"\r\n\r\na\r\n--x--\r\n';
    for (const [method, path] of [
      ['POST', '/v2/deployments'],
      ['PATCH', `/v2/deployments/${randomUUID()}`],
      ['POST', '/api/v1/bulk-exports'],
    ] as const)
      expect((await tenant.call(method, path, sent, boundary)).status).toBe(415);
    expect((await tenant.call('GET', '/v2/deployments')).status).toBe(200);
  });

  it('refuses variables that can run code, until the workspace allows them', async () => {
    const trusting = await api.workspace();
    const secrets = [
      { name: 'NODE_OPTIONS', value: '--require /tmp/x.js' },
      { name: 'LD_PRELOAD', value: '/tmp/x.so' },
      { name: 'MY_PATH', value: 'fine' },
    ];
    const request = deploymentBody({ name: 'dangerous', secrets });
    const refused = await trusting.call('POST', '/v2/deployments', request);
    expect(refused.status).toBe(422);
    expect(problemsIn(refused)).toEqual([
      'body.secrets.0.name value_error',
      'body.secrets.1.name value_error',
    ]);
    expect(JSON.stringify(refused.json)).toMatch(
      /NODE_OPTIONS can run code .*spec\.allowDangerousEnvironment/,
    );
    const name = trusting.namespace.replace(/^ws-/, '');
    await api.client.merge(RESOURCES.Workspace, { name }, { spec: { allowDangerousEnvironment: true } });
    await waitFor(async () => (await trusting.call('POST', '/v2/deployments', request)).status === 201);
  });

  it.each([
    ['a command as the repository', { repo_url: 'ext::sh -c touch% /tmp/x' }, {}],
    ['an option as the repository', { repo_url: '--upload-pack=touch /tmp/x' }, {}],
    ['a folder of the machine', { repo_url: 'file:///etc' }, {}],
    ['a path of the machine', { repo_url: '/etc' }, {}],
    ['the protocol of git without protection', { repo_url: 'git://example.com/x' }, {}],
    ['an option as the host', { repo_url: 'ssh://-oProxyCommand=x/y' }, {}],
    ['an option as the user', { repo_url: 'ssh://-oProxyCommand=x@host/y' }, {}],
    ['an option as the host of the short form', { repo_url: 'git@-oProxyCommand=x:y' }, {}],
    ['a line break in the repository', { repo_url: 'https://example.com/x\n--upload-pack=x' }, {}],
    ['an option as the branch', {}, { repo_ref: '--upload-pack=x' }],
    ['a range as the branch', {}, { repo_ref: 'a..b' }],
    ['a line break in the branch', {}, { repo_ref: 'a\nb' }],
    ['a reflog entry as the branch', {}, { repo_ref: 'a@{1}' }],
    ['an option as the configuration', {}, { graph_config_path: '-x' }],
    ['a path out of the repository', {}, { graph_config_path: 'a/../../etc/passwd' }],
    ['an absolute path', {}, { graph_config_path: '/etc/passwd' }],
  ])('refuses %s of an agent in git', async (_what, config, revision) => {
    const answer = await tenant.call('POST', '/v2/deployments', {
      name: `git-${randomUUID()}`,
      source: 'git_host',
      source_config: { repo_url: 'https://example.com/x', ...config },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'langgraph.json', ...revision },
      secrets: [],
    });
    expect(answer.status).toBe(422);
    expect(problemsIn(answer)).toEqual([expect.stringMatching(/(repo_url|repo_ref|graph_config_path) /)]);
    expect(JSON.stringify(answer.json)).toMatch(/"must be a /);
  });

  it.each([
    'ssh://git@example.com/x.git',
    'git@example.com:x.git',
    'https://u@example.com:8443/x',
    'https://u:password@example.com/x',
  ])('refuses %s as a repository: a token belongs into an integration', async (repository) => {
    const answer = await tenant.call('POST', '/v2/deployments', gitBody(repository));
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.json)).toMatch(
      /must be a URL that begins with https:\/\/ and names no user/,
    );
  });

  it('takes an agent in git, and needs the path of its graph configuration', async () => {
    const taken = await tenant.call('POST', '/v2/deployments', gitBody('https://example.com/x.git'));
    expect([taken.status, taken.json.source]).toEqual([201, 'git_host']);
    const body = gitBody('https://example.com/x.git');
    const refused = await tenant.call('POST', '/v2/deployments', {
      ...body,
      source_revision_config: { repo_ref: 'main' },
    });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.json)).toContain('graph_config_path is required for source git_host');
  });

  it.each<[string, object, string, RegExp]>([
    [
      'a foreign namespace',
      { listener_config: { cluster_namespace: 'elsewhere' } },
      'listener_config.cluster_namespace value_error',
      /run in the namespace of their workspace, ws-/,
    ],
    [
      'a service account whose name is none',
      { resource_spec: { service_account_name: 'My Account' } },
      'resource_spec.service_account_name string_pattern_mismatch',
      /the name of an object: lower case letters/,
    ],
    [
      'a Secret of a registry whose name is none',
      { resource_spec: { image_pull_secrets: [{ name: 'a/b' }] } },
      'resource_spec.image_pull_secrets.0.name string_pattern_mismatch',
      /the name of an object: lower case letters/,
    ],
  ])('refuses %s, which would never run', async (_what, config, problem, sentence) => {
    const body = deploymentBody({
      source: 'external_image',
      source_revision_config: { image_uri: 'local/a' },
      source_config: config,
    });
    const answer = await tenant.call('POST', '/v2/deployments', body);
    expect([answer.status, problemsIn(answer)]).toEqual([422, [`body.source_config.${problem}`]]);
    expect(answer.json.detail[0].msg).toMatch(sentence);
  });

  it('refuses a listener that does not exist, and takes the namespace of the workspace', async () => {
    const body = (source_config: object) =>
      deploymentBody({
        source: 'external_image',
        source_revision_config: { image_uri: 'local/a' },
        source_config,
      });
    const listener_id = randomUUID();
    const unknown = await tenant.call('POST', '/v2/deployments', body({ listener_id }));
    expect([unknown.status, unknown.json.detail]).toEqual([400, `Listener with ID ${listener_id} not found`]);
    const own = { listener_config: { cluster_namespace: tenant.namespace } };
    expect((await tenant.call('POST', '/v2/deployments', body(own))).status).toBe(201);
  });

  it('refuses reserved and doubled secrets, and immutable fields', async () => {
    const secrets = [
      { name: 'POSTGRES_URI', value: 'x' },
      { name: 'OK', value: 'x' },
      { name: 'OK', value: 'y' },
    ];
    expect(problemsIn(await tenant.call('POST', '/v2/deployments', deploymentBody({ secrets })))).toEqual([
      'body.secrets.0.name value_error',
      'body.secrets.2.name value_error',
    ]);
    const { json: made } = await tenant.call('POST', '/v2/deployments', deploymentBody());
    const change = {
      name: 'other',
      source: 'external_image',
      source_config: {
        integration_id: randomUUID(),
        repo_url: 'https://x',
        deployment_type: 'prod',
        listener_id: randomUUID(),
        listener_config: { cluster_namespace: 'x' },
      },
    };
    expect(problemsIn(await tenant.call('PATCH', `/v2/deployments/${made.id}`, change))).toEqual(
      [
        'name',
        'source',
        'source_config.integration_id',
        'source_config.repo_url',
        'source_config.deployment_type',
        'source_config.listener_id',
        'source_config.listener_config.cluster_namespace',
      ].map((path) => `body.${path} frozen_field`),
    );
    const strict = { prefer: 'handling=strict' };
    const patch = (headers?: Record<string, string>) =>
      tenant.call('PATCH', `/v2/deployments/${made.id}`, made, headers);
    expect([(await patch(strict)).status, (await patch()).status]).toEqual([422, 200]);
  });

  it('refuses malformed ids', async () => {
    const answer = await tenant.call('GET', '/v2/deployments/x%2F..%2Fy');
    expect(problemsIn(answer)).toEqual(['path.deployment_id uuid_parsing']);
    const long = await tenant.call('GET', `/v2/deployments/${'a'.repeat(3000)}`);
    expect(problemsIn(long)).toEqual(['path.deployment_id uuid_parsing']);
    expect((await tenant.call('GET', '/v2/deployments/%E0%A4%A')).status).toBe(400);
  });
});
