import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync, spawnSync } from 'node:child_process';
import { Client } from '@langchain/langgraph-sdk';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';

interface Problem {
  loc: (string | number)[];
  msg: string;
  type: string;
}
interface Refusal {
  detail: string | Problem[];
}
interface Deployment {
  id: string;
  latest_revision_id: string;
  active_revision_id: string | null;
  url?: string | null;
}

const GOOD = {
  name: 'good',
  source: 'internal_image',
  source_config: {},
  source_revision_config: { image_uri: 'sample-agent' },
  secrets: [],
};

/** What a new user gets wrong, and what the platform says to it. */
describe('bad input', () => {
  const platform = sharedPlatform();
  const binary = findKubectl();
  let rest: Rest;
  let deployment: Deployment;

  beforeAll(async () => {
    rest = new Rest(platform.credentials);
    const created = await rest.post<Deployment>('/v2/deployments', GOOD);
    expect(created.status).toBe(201);
    deployment = created.body;
    await waitFor(
      async () =>
        (
          await rest.get<{ status: string }>(
            `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}`,
          )
        ).body.status === 'DEPLOYED',
      { what: 'the good deployment' },
    );
  });

  function places(refusal: Refusal): string[] {
    if (typeof refusal.detail === 'string') throw new Error(`a string, not a list: ${refusal.detail}`);
    return refusal.detail.map((problem) => problem.loc.join('.'));
  }

  it('refuses a wrong key with 401', async () => {
    const stranger = new Rest({
      ...platform.credentials,
      apiKey: `${platform.credentials.apiKey.slice(0, -4)}zzzz`,
    });
    const answer = await stranger.get<Refusal>('/v2/deployments');
    expect(answer.status).toBe(401);
    expect(typeof answer.body.detail).toBe('string');
  });

  it('refuses a missing key with 401', async () => {
    expect((await fetch(`${platform.credentials.restUrl}/v2/deployments`)).status).toBe(401);
  });

  it('answers a foreign tenant like a missing thing', async () => {
    const foreign = new Rest({ ...platform.credentials, tenantId: '00000000-0000-4000-8000-000000000000' });
    expect((await foreign.get(`/v2/deployments/${deployment.id}`)).status).toBe(404);
  });

  it('answers 404 for an unknown deployment and names it', async () => {
    const id = '11111111-1111-4111-8111-111111111111';
    const answer = await rest.get<Refusal>(`/v2/deployments/${id}`);
    expect(answer.status).toBe(404);
    expect(answer.body.detail).toContain(id);
  });

  it.each([
    ['an unknown field', { ...GOOD, name: 'x', colour: 'red' }, 'body.colour'],
    ['a bad enum', { ...GOOD, name: 'x', source: 'floppy' }, 'body.source'],
    ['a missing name', { ...GOOD, name: undefined }, 'body.name'],
    [
      'a reserved variable',
      { ...GOOD, name: 'x', secrets: [{ name: 'POSTGRES_URI', value: 'x' }] },
      'body.secrets.0.name',
    ],
    [
      'too much CPU',
      { ...GOOD, name: 'x', source_config: { resource_spec: { cpu: 99 } } },
      'body.source_config.resource_spec.cpu',
    ],
  ])('refuses %s with 422 and says where', async (_what, body, place) => {
    const strict = new Rest(platform.credentials, { prefer: 'handling=strict' });
    const answer = await strict.post<Refusal>('/v2/deployments', body);
    expect(answer.status).toBe(422);
    expect(places(answer.body)).toContain(place);
  });

  it('refuses a body that is no JSON with a string', async () => {
    const answer = await fetch(`${platform.credentials.restUrl}/v2/deployments`, {
      method: 'POST',
      headers: { 'x-api-key': platform.credentials.apiKey, 'content-type': 'application/json' },
      body: '{"name": ',
    });
    expect([400, 422]).toContain(answer.status);
  });

  it('refuses to change an immutable field', async () => {
    const answer = await rest.patch<Refusal>(`/v2/deployments/${deployment.id}`, {
      source: 'external_image',
    });
    expect(answer.status).toBe(422);
    expect(places(answer.body)).toContain('body.source');
  });

  (binary ? it : it.skip)('refuses the same through kubectl', async () => {
    const kubectl = new Kubectl(binary ?? '', platform.credentials.kubeconfig);
    const answer = await kubectl.try([
      'patch',
      'adep',
      'good',
      '--type=merge',
      '-p',
      '{"spec":{"source":"external_image"}}',
    ]);
    expect(answer.code).not.toBe(0);
    expect(answer.stderr).toMatch(/immutable/i);
    const unknown = await kubectl.try(['apply', '-f', '-'], {
      input:
        'apiVersion: agentplane.dev/v1alpha1\nkind: AgentDeployment\nmetadata: {name: typo}\nspec: {source: internal_image, colour: red, sourceRevisionConfig: {imageUri: sample-agent}}\n',
    });
    expect(unknown.stderr).toMatch(/unknown field "spec.colour"/);
  });

  it('refuses an export that ends before it starts', async () => {
    const destinations = await rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
    const sessions = await rest.get<{ id: string }[]>('/sessions?name=good');
    const answer = await rest.post<Refusal>('/api/v1/bulk-exports', {
      bulk_export_destination_id: destinations.body[0]?.id,
      session_id: sessions.body[0]?.id,
      start_time: '2026-02-02T00:00:00Z',
      end_time: '2026-02-01T00:00:00Z',
    });
    expect(answer.status).toBe(422);
    expect(places(answer.body)).toContain('body.end_time');
  });

  it.each([
    ['an unknown access key', { access_key_id: 'AKIAUNKNOWN' }, 'Key ID you provided does not exist'],
    ['a wrong secret', { secret_access_key: 'wrong' }, 'Access denied'],
  ])('refuses a destination with %s in the words of the interface', async (_what, wrong, message) => {
    const { objectStore } = platform.credentials;
    const answer = await rest.post<Refusal>('/api/v1/bulk-exports/destinations', {
      destination_type: 'object_store',
      display_name: 'wrong',
      config: {
        bucket_name: objectStore.bucket,
        prefix: 'x',
        region: objectStore.region,
        endpoint_url: objectStore.endpoint,
      },
      credentials: {
        access_key_id: objectStore.accessKeyId,
        secret_access_key: objectStore.secretAccessKey,
        ...wrong,
      },
    });
    expect(answer.status).toBe(400);
    expect(String(answer.body.detail)).toContain(message);
    expect(JSON.stringify(answer.body)).not.toContain(objectStore.secretAccessKey);
  });

  it('says why a graph does not load, and the old revision goes on serving', async () => {
    const folder = join(platform.dataFolder, 'broken-agent');
    mkdirSync(folder);
    writeFileSync(join(folder, 'langgraph.json'), JSON.stringify({ graphs: { agent: './agent.ts:graph' } }));
    writeFileSync(
      join(folder, 'agent.ts'),
      'console.log("looking for the flux");\nthrow new Error("the flux is not set");\nexport const graph = 1;\n',
    );
    const addImage = (): string =>
      execFileSync(
        process.execPath,
        ['bin/agentplane.js', 'image', 'add', 'broken-agent', folder, '--data', platform.dataFolder],
        { cwd: repository, encoding: 'utf8' },
      );
    expect(addImage()).toMatch(/^Use it as "imageUri: broken-agent" .* npx agentplane deploy broken-agent$/m);
    const patched = await rest.patch<Deployment>(`/v2/deployments/${deployment.id}`, {
      source_revision_config: { image_uri: 'broken-agent' },
    });
    expect(patched.status).toBe(200);
    const failed = await waitFor(
      async () => {
        const { body } = await rest.get<{ status: string; status_message?: string }>(
          `/v2/deployments/${deployment.id}/revisions/${patched.body.latest_revision_id}`,
        );
        return body.status.endsWith('FAILED') ? body : undefined;
      },
      { what: 'the revision to fail' },
    );
    // adding a mended folder again deploys nothing by itself, and the answer states it
    expect(addImage()).toContain('good keeps the image as it was; --deploy makes new revisions');
    expect(failed.status).toBe('DEPLOY_FAILED');
    expect(failed.status_message).toContain('the flux is not set');
    const now = await rest.get<Deployment>(`/v2/deployments/${deployment.id}`);
    expect(now.body.active_revision_id).toBe(deployment.latest_revision_id);
    if (binary) {
      // its pods are gone, what they printed is not
      const kubectl = new Kubectl(binary, platform.credentials.kubeconfig);
      const args = ['get', 'configmap', 'good-00002-output', '-o', 'json'];
      const kept = await waitFor(async () => {
        const { code, stdout } = await kubectl.try(args);
        return code === 0 && stdout;
      });
      const { data } = JSON.parse(kept) as { data: Record<string, string> };
      expect(data['agent.log']).toContain('looking for the flux');
    }
    const client = new Client({ apiUrl: now.body.url ?? '', apiKey: platform.credentials.apiKey });
    await client.runs.wait(null, 'agent', {
      input: { messages: [{ role: 'user', content: 'still there?' }] },
    });
  });

  it('shows why a revision cannot be made until that is mended', async () => {
    const { kubeconfig } = platform.credentials;
    const client = new KubeClient(await loadKubeConnection({ kubeconfigPath: kubeconfig }));
    const { body: made } = await rest.post<Deployment>('/v2/deployments', { ...GOOD, name: 'unmade' });
    const { items } = await client.list(RESOURCES.AgentDeployment);
    const { namespace = '', name } = items.find((one) => one.metadata.name === 'unmade')?.metadata ?? {
      name: '',
    };
    const naming = (secret: string | null) =>
      client.merge(
        RESOURCES.AgentDeployment,
        { namespace, name },
        {
          spec: { secretsRef: secret === null ? null : { name: secret } },
        },
      );
    await naming('missing');
    const { body } = await rest.patch<Deployment>(`/v2/deployments/${made.id}`, {
      source_revision_config: { image_uri: 'sample-agent' },
      min_ready_seconds: 0,
    });
    const path = `/v2/deployments/${made.id}/revisions/${body.latest_revision_id}`;
    const shows = (status: string, reason?: string) =>
      waitFor(
        async () => {
          const found = await rest.get<{ status: string; status_reason: string; status_message: string }>(
            path,
          );
          const isMeant = reason === undefined || found.body.status_reason === reason;
          return found.body.status === status && isMeant && found.body;
        },
        { what: status },
      );
    expect(await shows('CREATING', 'SecretMissing')).toMatchObject({
      status_reason: 'SecretMissing',
      status_message: expect.stringContaining('Secret missing does not exist') as unknown,
    });
    const listed = await rest.get<{ resources: { id: string }[] }>(
      `/v2/deployments/${made.id}/revisions?status=CREATING`,
    );
    expect(listed.body.resources.map(({ id }) => id)).toEqual([body.latest_revision_id]);
    await naming(null);
    await shows('DEPLOYED');
    expect((await rest.call('DELETE', `/v2/deployments/${made.id}`)).status).toBeLessThan(300);
    await waitFor(async () => (await rest.get(`/v2/deployments/${made.id}`)).status === 404, {
      what: 'the end of the deployment',
    });
    await client.close();
  });

  it('refuses callers of the agent without a key of its workspace', async () => {
    const { body } = await rest.get<Deployment>(`/v2/deployments/${deployment.id}`);
    expect((await fetch(`${body.url}/threads`, { method: 'POST', body: '{}' })).status).toBe(401);
  });

  it('still runs, and reports the state of every part', async () => {
    if (!binary) leaveOut('kubectl');
    // 1: one thing is not as it should be
    const status = spawnSync(
      process.execPath,
      ['bin/agentplane.js', 'status', '-o', 'json', '--data', platform.dataFolder],
      { cwd: repository, encoding: 'utf8' },
    );
    expect(status.status).toBe(1);
    const parts = JSON.parse(status.stdout) as { part: string; state: string; detail: string }[];
    expect(parts.map(({ part, state }) => `${part.replace(/^node\/.*/, 'node')} ${state}`)).toEqual([
      'supervisor ok',
      'disk ok',
      'postgres ok',
      'rest ok',
      'object-store ok',
      'program/supervisor ok',
      'program/api ok',
      'program/controller ok',
      'program/embedded ok',
      'kubernetes ok',
      'node ready',
      'listener/default ready',
      'deployment/good GraphLoadFailed',
    ]);
    expect(parts.at(-1)?.detail).toContain('the flux is not set');
    expect((await fetch(`${platform.credentials.restUrl}/ok`)).status).toBe(200);
    expect(platform.process.exitCode).toBeNull();
  });
});
