import { randomUUID } from 'node:crypto';
import { cpSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { temporaryFolder, waitFor } from '#lib/testing';
import { repository } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';

interface Deployment {
  readonly id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly status_message: string | null;
  readonly latest_revision_id: string | null;
  readonly url: string | null;
  readonly source_revision_config: Readonly<Record<string, string | null>>;
}
interface Revision {
  readonly id: string;
  readonly status: string;
  readonly status_message: string | null;
}
interface Entries {
  readonly logs: readonly {
    readonly id: string;
    readonly timestamp: string;
    readonly level: string;
    readonly message: string;
  }[];
  readonly next_offset: string | null;
}
interface Place {
  readonly upload_url: string;
  readonly object_path: string;
}

describe('a deployment from an uploaded archive', () => {
  const platform = sharedPlatform();
  const folder = temporaryFolder();
  let rest: Rest;
  let count = 0;
  beforeAll(() => {
    rest = new Rest(platform.credentials);
  });

  const create = async (name: string, source = 'internal_source'): Promise<Deployment> => {
    const { status, body } = await rest.post<Deployment>('/v2/deployments', {
      name,
      source,
      source_config: {},
      source_revision_config: {},
      secrets: [{ name: 'GREETING', value: 'hello' }],
    });
    expect([status, body]).toEqual([201, expect.anything()]);
    return body;
  };
  const placeOf = async (id: string): Promise<Place> =>
    (await rest.post<Place>(`/v2/deployments/${id}/upload-url`, { supports_upload_headers: true })).body;
  const put = (url: string, body: Buffer, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'PUT',
      body: new Uint8Array(body),
      headers: { 'content-type': 'application/gzip', ...headers },
    });
  /** A tar.gz as a person makes it. */
  const packed = async (files: Readonly<Record<string, string>>): Promise<Buffer> => {
    const at = join(folder, `source-${count++}`);
    await mkdir(at);
    cpSync(join(repository, 'examples', 'agent', 'src'), join(at, 'src'), { recursive: true });
    cpSync(join(repository, 'examples', 'agent', 'langgraph.json'), join(at, 'langgraph.json'));
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(at, path)), { recursive: true });
      await writeFile(join(at, path), content);
    }
    spawnSync('tar', ['czf', `${at}.tar.gz`, '-C', at, '.']);
    return readFileSync(`${at}.tar.gz`);
  };
  const patch = (id: string, object: string, more: object = {}) =>
    rest.patch<Deployment>(`/v2/deployments/${id}`, {
      source_revision_config: { source_tarball_path: object, graph_config_path: 'langgraph.json' },
      ...more,
    });
  const ended = async (id: string, revision: string): Promise<Revision> =>
    await waitFor(
      async () => {
        const { body } = await rest.get<Revision>(`/v2/deployments/${id}/revisions/${revision}`);
        return /DEPLOYED|FAILED|SKIPPED/.test(body.status) && body;
      },
      { intervalMs: 100 },
    );

  const logs = async (path: string, body: object): Promise<Entries> => {
    const answer = await rest.post<Entries>(`/v1/projects/${path}`, body);
    expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
    return answer.body;
  };
  const messages = ({ logs: all }: Entries): readonly string[] => all.map(({ message }) => message);

  it('waits for their source, is built from it, and is built again from the same', async () => {
    const made = await create('from-archive');
    expect(made.latest_revision_id).toBeNull();
    const waiting = await waitFor(async () => {
      const { body } = await rest.get<Deployment>(`/v2/deployments/${made.id}`);
      return body.status_reason === 'AwaitingSource' && body;
    });
    expect(waiting.status_message).toContain('waiting for an archive of the source');
    const early = await rest.post<object>(`/v2/deployments/${made.id}/revisions`, {});
    expect([early.status, early.body]).toEqual([
      400,
      { detail: expect.stringContaining('waiting for an archive') },
    ]);

    const { upload_url: url, object_path: object } = await placeOf(made.id);
    const unsent = await patch(made.id, object);
    expect([unsent.status, JSON.stringify(unsent.body)]).toEqual([
      422,
      expect.stringContaining('no archive was uploaded'),
    ]);
    const archive = await packed({ 'notes.txt': 'one\n' });
    expect((await put(url, archive)).status).toBe(204);
    const again = await put(url, archive);
    expect([again.status, await again.text()]).toEqual([409, expect.stringContaining('used already')]);

    const { body: first } = await patch(made.id, object, {
      source_config: { build_command: 'cat notes.txt' },
      min_ready_seconds: 0,
    });
    const revision = await ended(made.id, first.latest_revision_id ?? '');
    expect([revision.status, revision.status_message]).toEqual(['DEPLOYED', expect.anything()]);
    expect(first.source_revision_config).toMatchObject({ source_tarball_path: object });
    const { body: serving } = await rest.get<Deployment>(`/v2/deployments/${made.id}`);
    const ok = await fetch(`${serving.url}/ok`);
    expect(ok.status).toBe(200);

    const build = `${made.id}/revisions/${revision.id}/build_logs`;
    const whole = await logs(build, { order: 'asc', limit: 50 });
    expect(messages(whole)).toEqual(
      expect.arrayContaining([
        'fetching the uploaded archive',
        'build command: cat notes.txt',
        'one',
        'built',
      ]),
    );
    const head = await logs(build, { order: 'asc', limit: 2 });
    const tail = await logs(build, { order: 'asc', limit: 50, offset: head.next_offset });
    expect([...head.logs, ...tail.logs]).toEqual(whole.logs);
    const none = await logs(build, { order: 'asc', limit: 50, offset: whole.next_offset });
    expect(none).toEqual({ logs: [], next_offset: whole.next_offset });
    const newest = await logs(build, { order: 'desc', limit: 1 });
    expect(messages(newest)).toEqual(['built']);
    expect(messages(await logs(build, { query: 'BUILD COMMAND' }))).toEqual(['build command: cat notes.txt']);
    const printed = await logs(`${made.id}/deploy_logs`, { limit: 10_000, order: 'desc' });
    expect(messages(printed)).not.toContain('built');
    expect(printed.logs.length).toBeGreaterThan(0);

    const repeated = await rest.post<Deployment>(
      `/v2/deployments/${made.id}/revisions/${revision.id}/redeploy`,
      {},
    );
    const repeat = await ended(made.id, repeated.body.latest_revision_id ?? '');
    expect([repeat.status, repeat.status_message]).toEqual(['DEPLOYED', expect.anything()]);
  });

  it('reports why a build failed', async () => {
    const made = await create('broken-archive');
    const { upload_url: url, object_path: object } = await placeOf(made.id);
    expect((await put(url, Buffer.from('no archive'))).status).toBe(204);
    const { body } = await patch(made.id, object);
    const failed = await ended(made.id, body.latest_revision_id ?? '');
    expect([failed.status, failed.status_message]).toEqual([
      'BUILD_FAILED',
      expect.stringContaining('the archive cannot be unpacked'),
    ]);
    for (const path of ['build_logs', 'deploy_logs']) {
      const { logs: entries } = await logs(`${made.id}/revisions/${failed.id}/${path}`, { level: 'ERROR' });
      expect(entries).toEqual([
        expect.objectContaining({
          level: 'ERROR',
          message: expect.stringContaining('BuildFailed: the archive cannot be unpacked') as string,
        }),
      ]);
    }
  });

  it('takes nothing else from an upload URL', async () => {
    const made = await create('strict-archive');
    const other = await create('other-archive');
    const { upload_url: url, object_path: object } = await placeOf(made.id);
    const large = await put(url, Buffer.alloc(1), {}).then((answer) => answer.status);
    expect(large).toBe(204);
    const foreign = await patch(other.id, object);
    expect([foreign.status, JSON.stringify(foreign.body)]).toEqual([
      422,
      expect.stringContaining('must be the object_path of an upload URL of this deployment'),
    ]);
    const unknown = await put(`${url.slice(0, -4)}AAAA`, Buffer.alloc(1));
    expect(unknown.status).toBe(404);
    const missing = await rest.get(`/v2/deployments/${made.id}/archives/${randomUUID()}`);
    expect(missing.status).toBe(404);
  });

  it('names what else can be done where nothing can be pushed', async () => {
    const made = await create('image-later', 'internal_image');
    const { status, body } = await rest.post(`/v2/deployments/${made.id}/push-token`, {});
    expect([status, body]).toEqual([400, { detail: expect.stringContaining('--remote') }]);
    const wrong = await rest.post(`/v2/deployments/${made.id}/upload-url`, {});
    expect([wrong.status, wrong.body]).toEqual([
      400,
      { detail: expect.stringContaining("only available for 'internal_source' source deployments") },
    ]);
    const source = await create('source-later');
    const token = await rest.post(`/v2/deployments/${source.id}/push-token`, {});
    expect(token.body).toEqual({
      detail: expect.stringContaining("only available for 'internal_docker' source deployments"),
    });
  });
});
