import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { Rest } from '../support/rest.js';

const RELEASES = join(import.meta.dirname, 'releases');

/** An answer without the times of tests of destinations, which are repeated once a day. */
function withoutTests<T>(answer: T): T {
  return JSON.parse(JSON.stringify(answer, (name, value) => (name === 'tested_at' ? undefined : value))) as T;
}

/** `holds.json` of a release: what `releases/take.mjs` stored and was answered. */
interface Holdings {
  readonly tenantId: string;
  readonly apiKey: string;
  /** Key that may only read, and one of the workspace `research`. */
  readonly readKey: string;
  readonly researchKey: string;
  readonly deployment: string;
  /** Thread that finished, thread that is interrupted before its tools, and one whose run was due after the stop. */
  readonly finished: string;
  readonly paused: string;
  readonly waiting: string;
  readonly delayed: string;
  readonly trace: string;
  readonly project: string;
  /** Of the project. */
  readonly runs: number;
  readonly schedule: string;
  readonly rest: readonly Answered[];
  readonly agent: readonly Answered[];
}

interface Answered {
  readonly path: string;
  /** Without what changes with a start or a day. */
  readonly answer: object;
}

interface Export {
  readonly start_time: string;
  readonly end_time: string;
  readonly status: string;
}

const releases = readdirSync(RELEASES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe.each(releases)('a platform that %s stored', (release) => {
  const place = newDataFolder();
  const data = join(place, 'data');
  const holds = JSON.parse(readFileSync(join(RELEASES, release, 'holds.json'), 'utf8')) as Holdings;
  let platform: Platform;
  let rest: Rest;
  let url: string;

  beforeAll(async () => {
    // as root the server of the databases is another user, who must be able to go there
    chmodSync(place, 0o755);
    const restored = await agentplane(['restore', join(RELEASES, release), '--data', data]);
    expect([restored.code, restored.code === 0 ? '' : restored.complaint]).toEqual([0, '']);
    expect(JSON.parse(readFileSync(join(data, 'format.json'), 'utf8'))).toMatchObject({ platform: release });
    platform = await startPlatform(data);
    rest = new Rest(platform.credentials);
    url = await waitFor(
      async () => {
        const { body } = await rest.get<Record<string, string>>(`/v2/deployments/${holds.deployment}`);
        const { status, url: address = '' } = body;
        const isServing = status === 'READY' && (await fetch(`${address}/ok`).catch(() => undefined))?.ok;
        return isServing === true && address;
      },
      { what: 'the deployment' },
    );
  });

  afterAll(async () => {
    await platform.stop();
    removeDataFolder(place);
  });

  async function agent<T>(path: string, body?: unknown): Promise<T> {
    const answer = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-api-key': holds.apiKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect([path, answer.status]).toEqual([path, 200]);
    return (await answer.json()) as T;
  }

  it('serves under its former keys, with their scopes and workspaces', async () => {
    const { tenantId, apiKey, readKey, researchKey, trace } = holds;
    expect(platform.credentials).toMatchObject({ apiKey, tenantId });
    const status = async (key: string, method: string, path: string): Promise<number> => {
      const answer = await fetch(`${platform.credentials.restUrl}${path}`, {
        method,
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        ...(method === 'GET' ? {} : { body: '{"post":[],"patch":[]}' }),
      });
      return answer.status;
    };
    expect(await status(readKey, 'GET', `/runs/${trace}`)).toBe(200);
    expect(await status(readKey, 'POST', '/runs/batch')).toBe(403);
    expect(await status(researchKey, 'GET', '/v2/deployments')).toBe(200);
    expect(await status(researchKey, 'GET', `/runs/${trace}`)).toBe(404);
    expect(await status('apk_of_nobody', 'GET', '/v2/deployments')).toBe(401);
  });

  it.each(holds.rest)('answers GET $path as before', async ({ path, answer }) => {
    const { status, body } = await rest.get<object>(path);
    expect(status).toBe(200);
    expect(withoutTests(body)).toMatchObject(withoutTests(answer));
  });

  it.each(holds.agent)('answers the agent’s GET $path as before', async ({ path, answer }) => {
    expect(await agent<object>(path)).toMatchObject(answer);
  });

  it('knows the version of the agent server that runs its deployment', async () => {
    const { version } = await agent<{ version: string }>('/info');
    const listed = async (one: string): Promise<readonly string[]> => {
      const path = `/v2/deployments?image_version=${one}`;
      const { body } = await rest.get<{ resources: readonly { readonly id: string }[] }>(path);
      return body.resources.map(({ id }) => id);
    };
    // a pod that is ready is asked then
    await waitFor(async () => {
      const { body } = await rest.get<{ image_version: unknown }>(`/v2/deployments/${holds.deployment}`);
      return body.image_version === version;
    });
    expect(await listed(version)).toEqual([holds.deployment]);
    expect(await listed('0.0.1')).toEqual([]);
  });

  it('shows the attachment of a trace', async () => {
    const { body } = await rest.get<{ s3_urls: Record<string, { presigned_url: string }> }>(
      `/runs/${holds.trace}`,
    );
    const [attachment] = Object.values(body.s3_urls);
    expect(await (await fetch(attachment?.presigned_url ?? '')).text()).toBe('kept with its run');
  });

  it('lists the runs of the deployment’s project', async () => {
    const { body } = await rest.post<{ runs: readonly { readonly start_time: string }[] }>('/runs/query', {
      session: [holds.project],
    });
    expect(body.runs.length).toBeGreaterThanOrEqual(holds.runs);
  });

  it('finds every exported file as it was written', async () => {
    const { code, output } = await agentplane(['export', 'verify', 'kept', '--data', data]);
    expect([code, output]).toEqual([0, expect.any(String)]);
    expect(readdirSync(join(data, 'objects'), { recursive: true, encoding: 'utf8' })).toEqual(
      expect.arrayContaining([expect.stringMatching(/\.parquet$/)]),
    );
  });

  it('decrypts the secrets of its deployments', async () => {
    const client = new KubeClient(
      await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig }),
    );
    try {
      const { items } = await client.list(SECRETS);
      const values = items.flatMap((secret) => Object.values(secret.data ?? {}));
      const texts = values.map((value) => Buffer.from(value, 'base64').toString());
      expect(texts).toEqual(expect.arrayContaining(['kept since the release', 'at rest']));
    } finally {
      await client.close();
    }
  });

  it('goes on with finished, interrupted and delayed runs', async () => {
    const said = async (thread: string, body: object): Promise<string> =>
      JSON.stringify(await agent(`/threads/${thread}/runs/wait`, { assistant_id: 'agent', ...body }));
    expect(await said(holds.paused, { input: null })).toContain('The answer is 15.');
    const more = await said(holds.finished, { input: { messages: [{ role: 'user', content: '4 * 5?' }] } });
    expect(more).toContain('The answer is 42.');
    expect(more).toContain('The answer is 20.');
    await waitFor(
      async () => {
        const { status } = await agent<{ status: string }>(`/threads/${holds.waiting}/runs/${holds.delayed}`);
        return status === 'success';
      },
      { what: 'the run that was delayed' },
    );
    expect(JSON.stringify(await agent(`/threads/${holds.waiting}/state`))).toContain('The answer is 42.');
  });

  it('goes on with a schedule of exports where it was, without gap or overlap', async () => {
    const path = `/api/v1/bulk-exports?source_bulk_export_id=${holds.schedule}`;
    const { body: before } = await rest.get<readonly Export[]>(path);
    const pause = (paused: boolean) => rest.patch(`/api/v1/bulk-exports/${holds.schedule}`, { paused });
    expect((await pause(false)).status).toBe(200);
    const more = await waitFor(
      async () => {
        const { body } = await rest.get<readonly Export[]>(path);
        const isDone = body.filter(({ status }) => status === 'COMPLETED').length > before.length;
        return isDone && body;
      },
      { what: 'the next window' },
    );
    expect((await pause(true)).status).toBe(200);
    const starts = more.map(({ start_time: start }) => start).sort();
    const ends = more.map(({ end_time: end }) => end).sort();
    expect(starts.slice(1)).toEqual(ends.slice(0, -1));
  });

  it('makes a revision of a change, and rolls out', async () => {
    const secrets = [{ name: 'GREETING', value: 'changed' }];
    const { status, body } = await rest.patch<{ latest_revision_id: string }>(
      `/v2/deployments/${holds.deployment}`,
      { secrets },
    );
    expect(status).toBe(200);
    await waitFor(
      async () => {
        const { body: one } = await rest.get<{ active_revision_id: string; status: string }>(
          `/v2/deployments/${holds.deployment}`,
        );
        return one.active_revision_id === body.latest_revision_id && one.status === 'READY';
      },
      { what: 'the new revision' },
    );
  });
});
