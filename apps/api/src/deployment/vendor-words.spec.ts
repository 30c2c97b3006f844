import { describe, expect, it } from '@jest/globals';
import {
  type AgentDeployment,
  ANNOTATION,
  EVENTS,
  type Listener,
  platformSecretName,
  RESOURCES,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';
import { MEMBERS, VALUES } from '../wire/words.js';

let count = 0;
const named = (): string => `worded-${++count}`;

describe("the REST interface in the words of LangSmith's clients", () => {
  const { api, tenant } = testApi();

  const call = async (method: string, path: string, body: object | undefined, status: number) => {
    const answer = await tenant.call(method, path, body);
    expect([answer.status, answer.json?.detail]).toEqual([status, undefined]);
    return answer;
  };
  const docker = (over: object = {}) => ({
    name: named(),
    source: 'external_docker',
    source_config: { resource_spec: {} },
    source_revision_config: { image_uri: 'local/agent' },
    secrets: [],
    ...over,
  });
  const git = (over: object = {}, config: object = {}) => ({
    name: named(),
    source: 'github',
    source_config: { repo_url: 'https://github.com/example/agent', ...config },
    source_revision_config: { repo_ref: 'main', langgraph_config_path: 'langgraph.json' },
    ...over,
  });
  const create = async (body: object) => (await call('POST', '/v2/deployments', body, 201)).json;
  const resource = (name: string) =>
    api.client.get<AgentDeployment>(RESOURCES.AgentDeployment, { namespace: tenant.namespace, name });

  const sources = VALUES.find(({ member }) => member === 'source')?.words ?? [];

  it.each(sources)('answers source %s as %s, as it was sent', async (ours, vendors) => {
    const body = ours === 'git_host' ? git() : docker({ source: vendors });
    const made = await create(body);
    expect([made.source, made.secrets]).toEqual([vendors, null]);
    expect((await call('GET', `/v2/deployments/${made.id}`, undefined, 200)).json).toEqual(made);
    const revisions = await call('GET', `/v2/deployments/${made.id}/revisions`, undefined, 200);
    expect(revisions.json.resources[0]).toMatchObject({ source: vendors });
    const { spec, metadata } = await resource(made.name);
    expect([spec.source, JSON.parse(metadata.annotations?.[ANNOTATION.words] ?? '{}').source]).toEqual([
      ours,
      vendors,
    ]);
  });

  const types = VALUES.find(({ member }) => member === 'deployment_type')?.words ?? [];

  it.each(types)('answers deployment_type %s as %s, as it was sent', async (ours, vendors) => {
    const made = await create(docker({ source_config: { deployment_type: vendors } }));
    expect(made.source_config.deployment_type).toBe(vendors);
    expect((await resource(made.name)).spec.sourceConfig.deploymentType).toBe(ours);
    const sleeps = made.source_config.resource_spec?.min_scale === 0;
    expect(sleeps).toBe(vendors !== 'dedicated');
    const listed = await call('GET', `/v2/deployments?deployment_type=${vendors}`, undefined, 200);
    expect(listed.json.resources.map(({ id }: { id: string }) => id)).toContain(made.id);
    const again = { source_config: { deployment_type: vendors } };
    expect((await call('PATCH', `/v2/deployments/${made.id}`, again, 200)).json.source_config).toEqual(
      made.source_config,
    );
  });

  it('keeps the size of a deployment from git that sleeps', async () => {
    const made = await create(git({}, { deployment_type: 'serverless' }));
    expect(made.source_config.resource_spec).toMatchObject({ min_scale: 0, memory_mb: 512 });
  });

  const SAMPLES: Readonly<Record<string, unknown>> = {
    graph_config_path: 'langgraph.json',
    cache_cpu: 1,
    cache_cpu_limit: 2,
    cache_memory_mb: 64,
    cache_memory_limit_mb: 128,
  };

  it.each(MEMBERS.filter(({ part }) => part !== 'compute_config'))(
    'takes $vendors for $ours, and answers both',
    async ({ part, ours, vendors }) => {
      const value = ours === 'cluster_namespace' ? tenant.namespace : SAMPLES[ours];
      const bodyWith = (names: object): object => {
        if (part === 'source_revision_config') return git({ source_revision_config: names });
        return docker({ source_config: { [part]: names } });
      };
      const partOf = ({ source_config, source_revision_config }: Record<string, Record<string, object>>) =>
        part === 'source_revision_config' ? source_revision_config : source_config?.[part];
      for (const names of [{ [ours]: value }, { [vendors]: value }, { [ours]: value, [vendors]: value }])
        expect(partOf(await create(bodyWith(names)))).toMatchObject({ [ours]: value, [vendors]: value });
      const other = typeof value === 'number' ? value + 1 : `${String(value)}x`;
      const refused = await tenant.call(
        'POST',
        '/v2/deployments',
        bodyWith({ [ours]: value, [vendors]: other }),
      );
      expect([refused.status, refused.json.detail[0].loc.at(-1)]).toEqual([422, vendors]);
    },
  );

  it('takes null for a member that has a value under its other name', async () => {
    const names = { graph_config_path: null, langgraph_config_path: 'a.json' };
    const made = await create(git({ source_revision_config: names }));
    expect(made.source_revision_config).toMatchObject({ graph_config_path: 'a.json' });
  });

  it('refuses wrong values of known members', async () => {
    const refused = await tenant.call('POST', '/v2/deployments', docker({ source: 'gitlab' }));
    expect([refused.status, refused.json.detail[0].loc]).toEqual([422, ['body', 'source']]);
  });

  it('asks for a name where an agent is given', async () => {
    const { name: _, ...body } = docker({ agent: { agent_id: 'a', environment: 'staging' } });
    const refused = await tenant.call('POST', '/v2/deployments', body);
    expect([refused.status, refused.json.detail]).toEqual([400, expect.stringContaining('--name')]);
  });

  it('ignores unknown members and names them in Warning', async () => {
    const answer = await call('POST', '/v2/deployments', { ...docker(), novel: { a: 1 } }, 201);
    expect(answer.headers['warning']).toContain('"ignored, since they are not known here: novel"');
    const patch = { secrets: [{ name: 'A', value: 'b', kind: 'c' }] };
    const patched = await call('PATCH', `/v2/deployments/${answer.json.id}`, patch, 200);
    expect(patched.headers['warning']).toContain('secrets.0.kind');
    await waitFor(async () => {
      const { items } = await api.client.list(EVENTS, { namespace: tenant.namespace });
      const messages = items
        .map((one) => JSON.stringify(one))
        .filter((one) => one.includes('MembersIgnored') && one.includes(answer.json.name));
      return ['novel', 'secrets.0.kind'].every((name) => messages.some((text) => text.includes(name)));
    });
  });

  it('refuses unknown members when the client asks for it', async () => {
    const strict = { prefer: 'handling=strict' };
    const refused = await tenant.call('POST', '/v2/deployments', { ...docker(), novel: 1 }, strict);
    expect([refused.status, refused.json.detail[0].loc]).toEqual([422, ['body', 'novel']]);
  });

  it('finds deployments by name, and none by agent', async () => {
    const made = await create(docker());
    const find = async (query: string) =>
      (await call('GET', `/v2/deployments?${query}`, undefined, 200)).json.resources.map(
        ({ name }: { name: string }) => name,
      );
    expect(await find(`name=${made.name}&name_contains=${made.name}&limit=100&offset=0`)).toEqual([
      made.name,
    ]);
    expect(await find(`name=${made.name}-`)).toEqual([]);
    expect(await find(`name=${made.name}&agent_id=a&agent_environment=staging`)).toEqual([]);
    expect(await find(`name=${made.name}&remote_reconciled=true`)).toEqual([]);
    expect(await find(`name=${made.name}&remote_reconciled=false`)).toEqual([made.name]);
    expect((await tenant.call('GET', '/v2/deployments?nmae=x')).status).toBe(422);
    expect((await tenant.call('DELETE', `/v2/deployments?deployment_ids=${made.id}&nmae=x`)).status).toBe(
      422,
    );
  });

  it('keeps a name for people and packages', async () => {
    const made = await create(docker());
    const note = { display_name: 'An agent', revision_source: 'external_docker', tracked_packages: ['a:1'] };
    const patched = (await call('PATCH', `/v2/deployments/${made.id}`, note, 200)).json;
    expect(patched).toMatchObject({
      display_name: 'An agent',
      tracked_packages: ['a:1'],
      latest_revision_id: made.latest_revision_id,
    });
    const other = await tenant.call('PATCH', `/v2/deployments/${made.id}`, { revision_source: 'github' });
    expect(other.status).toBe(422);
  });

  it('keeps references to Secrets, and refuses those of the platform', async () => {
    const reference = (secret_name: string) => ({ name: 'TOKEN', secret_name, secret_key: 'token' });
    const made = await create(docker({ secret_references: [reference('mine')] }));
    expect(made.secret_references).toEqual([reference('mine')]);
    expect((await resource(made.name)).spec.secretReferences).toEqual([
      { name: 'TOKEN', secretName: 'mine', secretKey: 'token' },
    ]);
    const patch = { secret_references: [reference('other')] };
    const patched = (await call('PATCH', `/v2/deployments/${made.id}`, patch, 200)).json;
    expect(patched.secret_references).toEqual([reference('other')]);
    expect(patched.latest_revision_id).not.toBe(made.latest_revision_id);
    const other = await create(docker());
    const foreign = { secret_references: [reference(platformSecretName(other.name))] };
    const refused = await tenant.call('PATCH', `/v2/deployments/${made.id}`, foreign);
    expect([refused.status, refused.json.detail[0].loc]).toEqual([422, ['body', 'secret_references', 0]]);
  });

  it('leaves secrets as they are when an answer is sent back', async () => {
    const secrets = [{ name: 'A', value: 'b' }];
    const made = await create(docker({ source: 'external_image', secrets }));
    const again = { secrets: made.secrets };
    const patched = (await call('PATCH', `/v2/deployments/${made.id}`, again, 200)).json;
    expect(patched.latest_revision_id).toBe(made.latest_revision_id);
  });

  it('takes source_config with a new revision', async () => {
    const made = await create(docker());
    const body = { source_config: { resource_spec: { cpu: 0.5 } } };
    const revision = (await call('POST', `/v2/deployments/${made.id}/revisions`, body, 201)).json;
    expect(revision.id).not.toBe(made.latest_revision_id);
    expect((await resource(made.name)).spec.sourceConfig.resourceSpec).toEqual({ cpu: 0.5 });
  });

  it('takes its own answers back', async () => {
    const made = await create(git({}, { deployment_type: 'dev', resource_spec: { redis_memory_mb: 64 } }));
    const { source_config, source_revision_config } = made;
    const body = { source_config, source_revision_config, secrets: made.secrets };
    const patched = (await call('PATCH', `/v2/deployments/${made.id}`, body, 200)).json;
    expect(patched.source_config).toEqual(source_config);
    await call('POST', `/v2/deployments/${made.id}/revisions`, body, 201);
  });

  it('answers objects of kubectl in our words, and in those of LangSmith below /api-host', async () => {
    const name = named();
    await api.client.create<AgentDeployment>(RESOURCES.AgentDeployment, {
      metadata: { name, namespace: tenant.namespace },
      spec: { source: 'internal_image', sourceRevisionConfig: { imageUri: 'sample-agent' } } as never,
    });
    const read = async (prefix: string) => {
      const found = await fetch(`${api.url}${prefix}/v2/deployments?name=${name}`, {
        headers: { 'x-api-key': tenant.key },
      });
      return ((await found.json()) as { resources: { source: string }[] }).resources[0]?.source;
    };
    expect([await read(''), await read('/api-host')]).toEqual(['internal_image', 'internal_docker']);
  });

  it('serves the sample of the reference for a deployment from git, twice', async () => {
    for (const name of [named(), named()]) {
      const body = {
        name,
        source: 'github',
        source_config: {
          integration_id: null,
          repo_url: 'https://github.com/example/agent',
          deployment_type: 'serverless',
          build_on_push: false,
          custom_url: null,
          resource_spec: null,
        },
        source_revision_config: {
          repo_ref: 'main',
          langgraph_config_path: 'langgraph.json',
          image_uri: null,
        },
        secrets: [{ name: 'A', value: 'b' }],
      };
      const made = await create(body);
      const path = `/v2/deployments/${made.id}`;
      const { resources } = (await call('GET', `${path}/revisions`, undefined, 200)).json;
      expect(resources[0].id).toBe(made.latest_revision_id);
      const change = {
        source_config: { build_on_push: true },
        source_revision_config: { repo_ref: 'main', langgraph_config_path: 'langgraph.json' },
      };
      expect((await call('PATCH', path, change, 200)).json.source_config.build_on_push).toBe(true);
      await call('DELETE', path, undefined, 204);
    }
  });

  it('serves the published workflows for an image at a listener, twice', async () => {
    const namespaces = [tenant.namespace];
    const compute = {
      compute_type: 'k8s',
      compute_id: named(),
      compute_config: { k8s_namespaces: namespaces },
    };
    await call('POST', '/v2/listeners', compute, 201);
    const { resources: listeners } = (await call('GET', '/v2/listeners', undefined, 200)).json;
    const { id: listener_id } = listeners.find(
      ({ compute_id }: { compute_id: string }) => compute_id === compute.compute_id,
    );
    const resource_spec = { min_scale: 0, max_scale: 1, cpu: 1, memory_mb: 1024 };
    const source_revision_config = {
      repo_ref: null,
      langgraph_config_path: null,
      image_uri: 'local/agent',
    };
    for (const name of [named(), named()]) {
      const made = await create({
        name,
        source: 'external_docker',
        source_config: {
          integration_id: null,
          repo_url: null,
          deployment_type: 'dev_free',
          build_on_push: null,
          custom_url: null,
          resource_spec,
          listener_id,
          listener_config: { k8s_namespace: tenant.namespace },
        },
        source_revision_config,
        secrets: [{ name: 'OPENAI_API_KEY', value: 'a' }],
      });
      const path = `/v2/deployments/${made.id}`;
      const first = `${path}/revisions/${made.latest_revision_id}`;
      expect((await call('GET', first, undefined, 200)).json.status).toEqual(expect.any(String));
      await call('PATCH', path, { source_config: { resource_spec }, source_revision_config }, 200);
      const { resources } = (await call('GET', `${path}/revisions`, undefined, 200)).json;
      expect(resources[0].id).not.toBe(made.latest_revision_id);
      const newest = await call('GET', `${path}/revisions/${resources[0].id}`, undefined, 200);
      expect(newest.json).toMatchObject({ source: 'external_docker', status: expect.any(String) });
    }
  });

  it("serves the requests of Terraform's provider twice, without drift", async () => {
    for (const name of [named(), named()]) {
      const resource_spec = { min_scale: 1, max_scale: 2, redis_memory_mb: 64 };
      const made = await create({
        name,
        source: 'external_docker',
        source_config: { deployment_type: 'prod', resource_spec },
        source_revision_config: { image_uri: 'local/agent' },
        secrets: [{ name: 'A', value: 'b' }],
        secret_references: [{ name: 'B', secret_name: 'mine', secret_key: 'b' }],
      });
      const path = `/v2/deployments/${made.id}`;
      await call('PATCH', path, { display_name: 'Shown' }, 200);
      const read = (await call('GET', path, undefined, 200)).json;
      expect(read).toMatchObject({
        source: 'external_docker',
        display_name: 'Shown',
        source_config: { deployment_type: 'prod', resource_spec },
        secrets: null,
        secret_references: [{ name: 'B', secret_name: 'mine', secret_key: 'b' }],
        latest_revision_id: made.latest_revision_id,
      });
      const { build_on_push, custom_url } = read.source_config;
      await call('PATCH', path, { display_name: 'Shown', source_config: { build_on_push, custom_url } }, 200);
      expect((await call('GET', path, undefined, 200)).json.latest_revision_id).toBe(made.latest_revision_id);
      const revision = {
        source_config: { resource_spec: read.source_config.resource_spec },
        source_revision_config: read.source_revision_config,
        secrets: [{ name: 'A', value: 'c' }],
      };
      const next = (await call('POST', `${path}/revisions`, revision, 201)).json;
      expect((await call('GET', `${path}/revisions/${next.id}`, undefined, 200)).json.source).toBe(
        'external_docker',
      );
      await call('DELETE', path, undefined, 204);
    }
  });

  it('makes and reads listeners', async () => {
    const compute = { compute_type: 'k8s', compute_id: named(), version: '0.1' };
    const namespaces = [tenant.namespace];
    const body = { ...compute, compute_config: { k8s_namespaces: namespaces } };
    const made = (await call('POST', '/v2/listeners', body, 201)).json;
    expect(made).toMatchObject({
      compute_type: 'k8s',
      compute_config: { k8s_namespaces: namespaces, cluster_namespaces: namespaces },
    });
    const listener = await api.client.get<Listener>(RESOURCES.Listener, {
      namespace: tenant.namespace,
      name: made.name,
    });
    expect(listener.spec.computeType).toBe('cluster');
    const again = { compute_type: 'k8s', version: '0.2', compute_config: { k8s_namespaces: namespaces } };
    expect((await call('PATCH', `/v2/listeners/${made.id}`, again, 200)).json.compute_type).toBe('k8s');
  });
});
