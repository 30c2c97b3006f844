import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type AgentDeployment, type AgentRevision, ANNOTATION, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/);

describe('REST routes of deployments', () => {
  const { api, tenant } = testApi();

  const body = (over: object = {}) => ({
    name: `agent-${randomUUID().slice(0, 8)}`,
    source: 'internal_image',
    source_config: {},
    source_revision_config: { image_uri: 'sample-agent' },
    secrets: [],
    ...over,
  });
  const create = async (over: object = {}) => {
    const answer = await tenant.call('POST', '/v2/deployments', body(over));
    expect([answer.status, answer.json?.detail]).toEqual([201, undefined]);
    return answer.json;
  };
  const resource = (name: string) =>
    api.client.get<AgentDeployment>(RESOURCES.AgentDeployment, { namespace: tenant.namespace, name });
  /** What the controller would do. */
  const makeRevision = async (name: string, id: string, number: number) => {
    const made = await api.client.create<AgentRevision>(RESOURCES.AgentRevision, {
      metadata: {
        name: `${name}-0000${number}`,
        namespace: tenant.namespace,
        annotations: { 'agentplane.dev/id': id },
      },
      spec: {
        deploymentName: name,
        deploymentWireName: name,
        tenantId: tenant.tenantId,
        number,
        source: 'internal_image',
        imageUri: 'sample-agent',
        envSecretName: `${name}-0000${number}-env`,
        databaseSecretName: `${name}-database`,
        platformSecretName: `${name}-platform`,
        listenerName: 'default',
      },
    });
    await api.client.mergeStatus(
      RESOURCES.AgentDeployment,
      { namespace: tenant.namespace, name },
      {
        status: {
          handledRevisionRequestId: id,
          latestRevisionId: id,
          latestRevisionName: made.metadata.name,
        },
      },
    );
    return made;
  };
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const problems = (answer: { json: any }): string[] =>
    answer.json.detail.map((one: { loc: unknown[]; type: string }) => `${one.loc.join('.')} ${one.type}`);

  it('creates a deployment with a revision that can be read at once', async () => {
    const made = await create({ secrets: [{ name: 'TOKEN', value: 'top secret' }] });
    expect(made).toMatchObject({
      id: UUID,
      latest_revision_id: UUID,
      active_revision_id: null,
      tenant_id: tenant.tenantId,
      status: 'AWAITING_DATABASE',
      secrets: [{ name: 'TOKEN', value: '' }],
      source_config: { resource_spec: null, repo_url: null },
      source_revision_config: { image_uri: 'sample-agent', repo_ref: null },
    });
    const revision = await tenant.call(
      'GET',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`,
    );
    expect(revision.json).toMatchObject({ id: made.latest_revision_id, status: 'CREATING' });
    expect((await tenant.call('GET', `/v2/deployments/${made.id}`)).json).toEqual(made);
    const { spec } = await resource(made.name);
    expect(spec.revisionRequest).toEqual({ id: made.latest_revision_id, at: expect.any(String) });
    const secret = await api.client.get(SECRETS, {
      namespace: tenant.namespace,
      name: spec.secretsRef?.name ?? '',
    });
    expect(secret.data).toEqual({ TOKEN: Buffer.from('top secret').toString('base64') });
    expect(secret.metadata.ownerReferences?.[0]?.kind).toBe('AgentDeployment');
  });

  it('shows the revision that the controller made, and its failure', async () => {
    const made = await create();
    await makeRevision(made.name, made.latest_revision_id, 1);
    const path = `/v2/deployments/${made.id}/revisions`;
    const now = '2026-11-20T00:00:00Z';
    await api.client.mergeStatus(
      RESOURCES.AgentRevision,
      { namespace: tenant.namespace, name: `${made.name}-00001` },
      {
        status: {
          conditions: [
            { type: 'Built', status: 'True', reason: 'Image', message: '', lastTransitionTime: now },
            ...[
              { type: 'Failed', status: 'True' },
              { type: 'Ready', status: 'False' },
            ].map((one) => ({
              ...one,
              reason: 'GraphLoadFailed',
              message: 'no graph',
              lastTransitionTime: now,
            })),
          ],
        },
      } as never,
    );
    const shown = await waitFor(async () => {
      const { json } = await tenant.call('GET', `${path}/${made.latest_revision_id}`);
      return json.status === 'DEPLOY_FAILED' ? json : undefined;
    });
    expect(shown).toMatchObject({
      status_reason: 'GraphLoadFailed',
      status_message: 'no graph',
      source: 'internal_image',
    });
    expect((await tenant.call('GET', path)).json).toEqual({ resources: [shown], offset: 1 });
    expect((await tenant.call('GET', `${path}?status=DEPLOYED`)).json).toEqual({ resources: [], offset: 0 });
  });

  it('makes a revision on PATCH of a field that needs one, and none for others', async () => {
    const made = await create();
    const patch = async (change: object) => {
      const answer = await tenant.call('PATCH', `/v2/deployments/${made.id}`, change);
      expect([answer.status, answer.json?.detail]).toEqual([200, undefined]);
      return answer.json;
    };
    let latest = made.latest_revision_id;
    for (const change of [
      { source_revision_config: { image_uri: 'sample-agent' } },
      { secrets: [{ name: 'A', value: '1' }] },
      { secrets: [] },
      { source_config: { resource_spec: { cpu: 0.25, memory_mb: 512 } } },
    ]) {
      const changed = await patch(change);
      expect(changed.latest_revision_id).not.toBe(latest);
      latest = changed.latest_revision_id;
    }
    const { spec } = await resource(made.name);
    expect(spec.sourceConfig.resourceSpec).toEqual({ cpu: 0.3, memoryMb: 512 });
    const secrets = (await api.client.list(SECRETS, { namespace: tenant.namespace })).items;
    expect(secrets.filter((secret) => secret.metadata.name.startsWith(`${made.name}-secrets-`))).toHaveLength(
      1,
    );
    const untouched = await patch({
      source_config: null,
      secrets: null,
      source_revision_config: { image_uri: null },
    });
    expect(untouched.latest_revision_id).toBe(latest);
    expect((await patch({ name: made.name, source: made.source })).latest_revision_id).toBe(latest);
    const replaced = await patch({ source_config: { resource_spec: { memory_mb: 256 } } });
    expect(replaced.source_config.resource_spec).toEqual({ memory_mb: 256 });
  });

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
    const answer = await tenant.call('POST', '/v2/deployments', wrong);
    expect(answer.status).toBe(422);
    expect(problems(answer).sort()).toEqual(
      [
        'body.id extra_forbidden',
        'body.name string_too_short',
        'body.secrets.0.value missing',
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
    expect(problems(await tenant.call('POST', '/v2/deployments', {})).sort()).toEqual([
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
    await create({ source_config: { resource_spec: within } });
    const refused = await tenant.call(
      'POST',
      '/v2/deployments',
      body({ source_config: { resource_spec: beyond } }),
    );
    expect([refused.status, problems(refused)]).toEqual([
      422,
      [`body.source_config.resource_spec.${problem}`],
    ]);
  });

  it('answers the same times at first and later, in whole seconds', async () => {
    const WHOLE_SECONDS = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const made = await create();
    expect(made).toMatchObject({ created_at: WHOLE_SECONDS, updated_at: WHOLE_SECONDS });
    expect(made.created_at).toBe((await resource(made.name)).metadata.creationTimestamp);
    const revision = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}`;
    const times = { created_at: WHOLE_SECONDS, updated_at: WHOLE_SECONDS };
    expect((await tenant.call('GET', revision)).json).toMatchObject({ ...times, status: 'CREATING' });
    await makeRevision(made.name, made.latest_revision_id, 1);
    const patched = await tenant.call('PATCH', `/v2/deployments/${made.id}`, { secrets: [] });
    const read = await tenant.call('GET', `/v2/deployments/${made.id}`);
    for (const { json } of [patched, read]) {
      expect(json).toMatchObject(times);
      expect(json.created_at).toBe(made.created_at);
    }
  });

  it('reports problems that only the API server finds in the same shape', async () => {
    const before = (await api.client.list(SECRETS, { namespace: tenant.namespace })).items.length;
    const answer = await tenant.call(
      'POST',
      '/v2/deployments',
      body({
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

  it('refuses lists where objects should be, and names that every object has', async () => {
    const odd = { hasOwnProperty: 1, toString: 2, constructor: 3 };
    for (const [name, value] of Object.entries(odd)) {
      const sent = JSON.stringify(body()).replace('{', `{${JSON.stringify(name)}:${value},`);
      expect((await tenant.call('POST', '/v2/deployments', sent)).status).toBe(422);
      const inside = JSON.stringify(body({ source_config: { resource_spec: { labels: {} } } }));
      const label = inside.replace('"labels":{', `"labels":{${JSON.stringify(name)}:"x"`);
      expect((await tenant.call('POST', '/v2/deployments', label)).status).toBe(422);
    }
    for (const secrets of [[[]], [null], [[{ name: 'A', value: 'b' }]]])
      expect((await tenant.call('POST', '/v2/deployments', body({ secrets }))).status).toBe(422);
  });

  it.each([
    ['a NUL', 'a\\u0000b'],
    ['half a character', 'a\\ud800b'],
  ])('refuses text with %s', async (_what, text) => {
    for (const sent of [
      body({ name: 'HERE' }),
      body({ source_revision_config: { image_uri: 'HERE' } }),
      body({ secrets: [{ name: 'A', value: 'HERE' }] }),
    ]) {
      const answer = await tenant.call('POST', '/v2/deployments', JSON.stringify(sent).replace('HERE', text));
      expect([answer.status, answer.json.detail]).toEqual([422, [expect.anything()]]);
    }
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
    const request = body({ name: 'dangerous', secrets });
    const refused = await trusting.call('POST', '/v2/deployments', request);
    expect(refused.status).toBe(422);
    expect(problems(refused)).toEqual(['body.secrets.0.name value_error', 'body.secrets.1.name value_error']);
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
    expect(problems(answer)).toEqual([expect.stringMatching(/(repo_url|repo_ref|graph_config_path) /)]);
    expect(JSON.stringify(answer.json)).toMatch(/: must be a /);
  });

  it.each([
    'https://example.com/x.git',
    'https://u@example.com:8443/x',
    'ssh://git@example.com/x',
    'git@example.com:a/b.git',
  ])('takes %s as a repository', async (repository) => {
    const answer = await tenant.call('POST', '/v2/deployments', {
      name: `git-${randomUUID()}`,
      source: 'git_host',
      source_config: { repo_url: repository },
      source_revision_config: { repo_ref: 'refs/tags/v1.2.x/y', graph_config_path: 'a/..b/langgraph.json' },
      secrets: [],
    });
    expect(answer.json).toMatchObject({ source: 'git_host' });
  });

  it('refuses reserved and doubled secrets, and immutable fields', async () => {
    const secrets = [
      { name: 'POSTGRES_URI', value: 'x' },
      { name: 'OK', value: 'x' },
      { name: 'OK', value: 'y' },
    ];
    expect(problems(await tenant.call('POST', '/v2/deployments', body({ secrets })))).toEqual([
      'body.secrets.0.name value_error',
      'body.secrets.2.name value_error',
    ]);
    const made = await create();
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
    expect(problems(await tenant.call('PATCH', `/v2/deployments/${made.id}`, change))).toEqual(
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
    expect((await tenant.call('PATCH', `/v2/deployments/${made.id}`, made)).status).toBe(422);
  });

  it('refuses a name that is taken', async () => {
    const made = await create({ name: 'My Agent' });
    expect((await tenant.call('POST', '/v2/deployments', body({ name: 'My Agent' }))).status).toBe(409);
    expect((await create({ name: 'my-agent' })).id).not.toBe(made.id);
  });

  it('redeploys a revision as a new one', async () => {
    const made = await create();
    const path = `/v2/deployments/${made.id}/revisions`;
    expect((await tenant.call('POST', `${path}/${made.latest_revision_id}/redeploy`)).status).toBe(400);
    expect((await tenant.call('POST', `${path}/${randomUUID()}/redeploy`)).status).toBe(404);
    await makeRevision(made.name, made.latest_revision_id, 1);
    const answer = await waitFor(async () => {
      const again = await tenant.call('POST', `${path}/${made.latest_revision_id}/redeploy`);
      return again.status === 200 ? again : undefined;
    });
    expect(answer.json).toMatchObject({ id: made.id, latest_revision_id: UUID });
    expect(answer.json.latest_revision_id).not.toBe(made.latest_revision_id);
    expect((await resource(made.name)).spec.revisionRequest).toMatchObject({
      id: answer.json.latest_revision_id,
      fromRevisionId: made.latest_revision_id,
    });
  });

  it('lists deployments in pages, filtered, without those of other workspaces', async () => {
    const other = await api.workspace();
    const names = ['one', 'two', 'three'];
    for (const name of names)
      expect((await other.call('POST', '/v2/deployments', body({ name: `list-${name}` }))).status).toBe(201);
    const first = (await other.call('GET', '/v2/deployments?limit=2')).json;
    const second = (await other.call('GET', `/v2/deployments?limit=2&offset=${first.offset}`)).json;
    const listed = [...first.resources, ...second.resources].map((one: { name: string }) => one.name);
    expect(listed.sort()).toEqual(names.map((name) => `list-${name}`).sort());
    expect([first.offset, second.offset]).toEqual([2, 3]);
    const upper = String(first.resources[0].id).toUpperCase();
    expect((await other.call('GET', `/v2/deployments?deployment_ids=${upper}`)).json.resources).toHaveLength(
      1,
    );
    expect(problems(await other.call('GET', `/v2/deployments?offset=${'9'.repeat(20)}`))).toEqual([
      'query.offset less_than_equal',
    ]);
    expect((await other.call('GET', '/v2/deployments?name_contains=TWO')).json.resources).toHaveLength(1);
    expect((await other.call('GET', '/v2/deployments?status=READY')).json.resources).toHaveLength(0);
    expect(
      (await other.call('GET', `/v2/deployments?deployment_ids=${first.resources[0].id},${randomUUID()}`))
        .json.resources,
    ).toHaveLength(1);
    expect(problems(await other.call('GET', '/v2/deployments?limit=0&offset=-1&status=x')).sort()).toEqual([
      'query.limit greater_than_equal',
      'query.offset greater_than_equal',
      'query.status enum',
    ]);
    const foreign = first.resources[0].id as string;
    const hide = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');
    for (const [method, path, sent] of [
      ['GET', ''],
      ['PATCH', '', {}],
      ['DELETE', ''],
      ['GET', '/revisions'],
      ['GET', `/revisions/${randomUUID()}`],
      ['POST', `/revisions/${randomUUID()}/redeploy`],
    ] as const) {
      const [seen, missing] = [foreign, randomUUID()].map((id) =>
        tenant.call(method, `/v2/deployments/${id}${path}`, sent),
      );
      expect([method, path, (await seen)?.status, hide((await seen)?.text ?? '')]).toEqual([
        method,
        path,
        404,
        hide((await missing)?.text ?? ''),
      ]);
    }
  });

  it('answers every revision id that it gave out, also a skipped one', async () => {
    const made = await create();
    const path = `/v2/deployments/${made.id}`;
    const patches = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        tenant.call('PATCH', path, { source_revision_config: { image_uri: `image-${n}` } }),
      ),
    );
    expect(patches.map(({ status }) => status)).toEqual(patches.map(() => 200));
    const ids = [made.latest_revision_id, ...patches.map(({ json }) => json.latest_revision_id)] as string[];
    expect(new Set(ids).size).toBe(13);
    const { latest_revision_id: latest } = (await tenant.call('GET', path)).json;
    const shown = await Promise.all(
      ids.map(async (id) => (await tenant.call('GET', `${path}/revisions/${id}`)).json),
    );
    expect(shown.map(({ id }) => id)).toEqual(ids);
    expect(shown.map(({ status }) => status)).toEqual(
      ids.map((id) => (id === latest ? 'CREATING' : 'SKIPPED')),
    );
    expect(shown[0]).toMatchObject({
      status_reason: 'NewerRevision',
      source_revision_config: { image_uri: 'sample-agent' },
    });
    const listed = (await tenant.call('GET', `${path}/revisions?status=SKIPPED,CREATING`)).json.resources;
    expect(listed.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort());
    expect((await tenant.call('POST', `${path}/revisions/${ids[0]}/redeploy`)).status).toBe(400);
    expect(problems(await tenant.call('GET', `${path}/revisions?status=BOGUS`))).toEqual([
      'query.status enum',
    ]);
    await makeRevision(made.name, ids[0] ?? '', 1); // the controller had it in hand already
    await waitFor(
      async () => (await tenant.call('GET', `${path}/revisions/${ids[0]}`)).json.status !== 'SKIPPED',
    );
  });

  it('keeps what a PATCH does not name, also inside of listener_config', async () => {
    const made = await create({
      source: 'external_image',
      source_config: { listener_config: { cluster_namespace: 'there' } },
    });
    for (const listener_config of [{}, { cluster_namespace: null }, { cluster_namespace: 'there' }, null]) {
      const answer = await tenant.call('PATCH', `/v2/deployments/${made.id}`, {
        source_config: { listener_config },
      });
      expect([answer.status, answer.json.source_config?.listener_config]).toEqual([
        200,
        { cluster_namespace: 'there' },
      ]);
    }
  });

  it('refuses changes of a deployment that is being deleted', async () => {
    const made = await create();
    const key = { namespace: tenant.namespace, name: made.name };
    await makeRevision(made.name, made.latest_revision_id, 1);
    const finalizers = (list: string[]) =>
      api.client.merge(RESOURCES.AgentDeployment, key, { metadata: { finalizers: list } });
    await finalizers(['agentplane.dev/deployment']);
    const path = `/v2/deployments/${made.id}`;
    expect((await tenant.call('DELETE', path)).status).toBe(204);
    expect((await tenant.call('DELETE', path)).status).toBe(204);
    expect((await tenant.call('GET', path)).json.status).toBe('AWAITING_DELETE');
    const changed = await tenant.call('PATCH', path, { secrets: [{ name: 'A', value: 'b' }] });
    expect(changed).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining('is being deleted') },
    });
    const again = await tenant.call('POST', `${path}/revisions/${made.latest_revision_id}/redeploy`);
    expect(again.status).toBe(400);
    await finalizers([]);
    await waitFor(async () => (await tenant.call('GET', path)).status === 404);
  });

  it('answers 404 for a deployment that is deleted during a change', async () => {
    for (let round = 0; round < 10; round++) {
      const made = await create();
      const path = `/v2/deployments/${made.id}`;
      const answers = await Promise.all([
        tenant.call('DELETE', path),
        tenant.call('PATCH', path, { secrets: [{ name: 'A', value: 'b' }] }),
        tenant.call('DELETE', path),
      ]);
      for (const { status } of answers) expect([200, 204, 400, 404]).toContain(status);
    }
    const left = (await api.client.list(SECRETS, { namespace: tenant.namespace })).items;
    expect(left.filter(({ metadata }) => (metadata.ownerReferences ?? []).length === 0)).toEqual([]);
  });

  it('refuses other methods with 405, and asks for a key on private routes', async () => {
    const made = await create();
    const ask = async (method: string, path: string, key = tenant.key) => {
      const response = await fetch(api.url + path, {
        method,
        headers: key === '' ? {} : { 'x-api-key': key },
      });
      return [response.status, response.headers.get('allow')];
    };
    expect(await ask('PUT', '/v2/deployments')).toEqual([405, 'GET, HEAD, POST']);
    expect(await ask('OPTIONS', `/v2/deployments/${made.id}`)).toEqual([405, 'DELETE, GET, HEAD, PATCH']);
    expect(await ask('PUT', '/v2/deployments', '')).toEqual([401, null]);
    expect(await ask('PUT', '/v2/nothing')).toEqual([404, null]);
    expect(await ask('HEAD', `/v2/deployments/${made.id}`)).toEqual([200, null]);
    expect(await ask('HEAD', '/ok', '')).toEqual([200, null]);
  });

  it('deletes a deployment, with its project on request', async () => {
    const made = await create();
    const project = await api.store.projects.ensure(tenant.tenantId, made.name);
    const removed = await tenant.call('DELETE', `/v2/deployments/${made.id}?delete_tracing_project=true`);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect(await api.store.projects.find(tenant.tenantId, { id: project.id })).toBeUndefined();
    await waitFor(async () => (await tenant.call('GET', `/v2/deployments/${made.id}`)).status === 404);
  });

  it('deletes the project that a run made again, not the one that the status names', async () => {
    const made = await create();
    const first = await api.store.projects.ensure(tenant.tenantId, made.name);
    const [found] = (
      await api.client.list(RESOURCES.AgentDeployment, { namespace: tenant.namespace })
    ).items.filter((one) => one.metadata.annotations?.[ANNOTATION.id] === made.id);
    const key = { namespace: tenant.namespace, name: found?.metadata.name ?? '' };
    await api.client.mergeStatus(RESOURCES.AgentDeployment, key, { status: { tracingProjectId: first.id } });
    await tenant.call('DELETE', `/sessions/${first.id}`);
    const second = await api.store.projects.ensure(tenant.tenantId, made.name);
    await tenant.call('DELETE', `/v2/deployments/${made.id}?delete_tracing_project=true`);
    expect(await api.store.projects.find(tenant.tenantId, { id: second.id })).toBeUndefined();
  });

  it('refuses malformed ids', async () => {
    const answer = await tenant.call('GET', '/v2/deployments/x%2F..%2Fy');
    expect(problems(answer)).toEqual(['path.deployment_id uuid_parsing']);
    const long = await tenant.call('GET', `/v2/deployments/${'a'.repeat(3000)}`);
    expect(problems(long)).toEqual(['path.deployment_id uuid_parsing']);
    expect((await tenant.call('GET', '/v2/deployments/%E0%A4%A')).status).toBe(400);
  });

  it('lists listeners and integrations', async () => {
    await api.client.create(RESOURCES.Listener, {
      metadata: { name: 'default', namespace: tenant.namespace },
      spec: { computeType: 'cluster', computeId: 'here' },
    });
    const { resources } = await waitFor(async () => {
      const { json } = await tenant.call('GET', '/v2/listeners');
      return json.resources.length > 0 ? json : undefined;
    });
    expect(resources[0]).toMatchObject({
      id: UUID,
      compute_type: 'cluster',
      compute_id: 'here',
      compute_config: { cluster_namespaces: [tenant.namespace] },
    });
    const external = { source: 'external_image', source_revision_config: { image_uri: 'registry/x:1' } };
    const made = await create({ ...external, source_config: { listener_id: resources[0].id } });
    expect(made.source_config.listener_id).toBe(resources[0].id);
    const unknown = await tenant.call(
      'POST',
      '/v2/deployments',
      body({ ...external, source_config: { listener_id: randomUUID() } }),
    );
    expect(unknown.status).toBe(400);
    expect((await tenant.call('GET', '/v1/integrations/git_host/install')).json).toEqual([]);
  });

  it('shows what kubectl applied', async () => {
    await api.client.create(RESOURCES.AgentDeployment, {
      metadata: { name: 'by-hand', namespace: tenant.namespace },
      spec: { source: 'internal_image', sourceRevisionConfig: { imageUri: 'x' } } as AgentDeployment['spec'],
    });
    const shown = await waitFor(async () => {
      const { json } = await tenant.call('GET', '/v2/deployments?name_contains=by-hand');
      return json.resources[0];
    });
    expect(shown).toMatchObject({
      name: 'by-hand',
      latest_revision_id: null,
      secrets: [],
      source_config: { build_on_push: null },
    });
  });
});
