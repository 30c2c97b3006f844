import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { formatGitIntegration, GIT_INTEGRATIONS } from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  CONFIG_MAPS,
  JOBS,
  RESOURCES,
  SECRET_TYPE,
  SECRETS,
} from '#lib/resources';
import { type GitRepository, type GitServer, gitServer, itLong, waitFor } from '#lib/testing';
import { repository } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';

interface Deployment {
  readonly id: string;
  readonly latest_revision_id: string;
  readonly url: string | null;
  readonly source_config: { readonly custom_url: string | null };
}
interface Revision {
  readonly status: string;
  readonly status_reason: string | null;
  readonly status_message: string | null;
  readonly source_revision_config: Readonly<Record<string, string | null>>;
}

/** What a server answers to who asks it for this host. */
async function answerAt(server: string, host: string, path: string): Promise<string> {
  const asked = request(`${server}${path}`, { headers: { host } });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return await text(answer);
}

const TOKEN = 'token-of-the-git-host';
const FOLDER = 'agents/weather';
const PATIENT = { intervalMs: 100 };

describe('deployments from git', () => {
  const platform = sharedPlatform();
  const integration = randomUUID();
  let git: GitServer;
  let source: GitRepository;
  let commit: string;
  let client: KubeClient;
  let rest: Rest;

  beforeAll(async () => {
    git = await gitServer();
    source = await git.repository('weather', TOKEN);
    await source.commit({ 'README.md': 'An agent in a folder.' });
    for (const name of ['langgraph.json', 'src'])
      cpSync(join(repository, 'examples', 'agent', name), join(source.folder, FOLDER, name), {
        recursive: true,
      });
    commit = await source.commit({});
    rest = new Rest(platform.credentials);
    const { kubeconfig: kubeconfigPath } = platform.credentials;
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'test' });
    await client.create(SECRETS, {
      metadata: { name: GIT_INTEGRATIONS, namespace: platform.namespace },
      type: SECRET_TYPE.gitIntegrations,
      data: {
        [integration]: formatGitIntegration({ name: 'ours', host: git.host, token: TOKEN, ca: git.ca }),
      },
    });
  });
  afterAll(async () => {
    await client?.close();
    await git?.close();
  });

  const deploy = async (name: string, config: object = {}, revision: object = {}): Promise<Deployment> => {
    const { status, body } = await rest.post<Deployment>('/v2/deployments', {
      name,
      source: 'git_host',
      source_config: { repo_url: source.url, integration_id: integration, ...config },
      source_revision_config: {
        repo_ref: 'main',
        graph_config_path: `${FOLDER}/langgraph.json`,
        ...revision,
      },
      secrets: [],
    });
    expect([status, body]).toEqual([201, expect.anything()]);
    return body;
  };
  /** Until it has ended, with every status on the way. */
  const follow = async ({ id, latest_revision_id: revision }: Deployment) => {
    const seen = new Set<string>();
    const last = await waitFor(async () => {
      const { body } = await rest.get<Revision>(`/v2/deployments/${id}/revisions/${revision}`);
      seen.add(body.status);
      return /DEPLOYED|FAILED|SKIPPED/.test(body.status) && body;
    }, PATIENT);
    return { last, seen: [...seen] };
  };
  const followed = (name: string) =>
    client.get<AgentDeployment>(RESOURCES.AgentDeployment, { namespace: platform.namespace, name });
  /** As GitHub calls the webhook of the integration. */
  const announce = async (push: object): Promise<void> => {
    const path = `/v1/integrations/git_host/${integration}/webhook`;
    const hook = await rest.call<{ readonly url: string; readonly secret: string }>('PUT', path, {});
    expect(hook.status).toBe(200);
    const body = JSON.stringify(push);
    const signature = createHmac('sha256', hook.body.secret).update(body).digest('hex');
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${signature}`,
    };
    const answer = await fetch(hook.body.url, { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toEqual([202, { woken: 1 }]);
  };
  const arev = (name: string) =>
    client.get<AgentRevision>(RESOURCES.AgentRevision, { namespace: platform.namespace, name });

  it('builds a folder of a private repository, serves it, and follows its branch', async () => {
    const deployment = await deploy('from-git', { build_command: 'echo "in $(pwd)"; sleep 1; touch built' });
    const { last, seen: states } = await follow(deployment);
    expect(last).toMatchObject({
      status: 'DEPLOYED',
      source_revision_config: {
        repo_ref: 'main',
        graph_config_path: `${FOLDER}/langgraph.json`,
        image_uri: null,
        repo_commit_sha: commit,
      },
    });
    expect(states).toEqual(expect.arrayContaining(['AWAITING_BUILD', 'BUILDING']));
    const { body } = await rest.get<Deployment>(`/v2/deployments/${deployment.id}`);
    expect((await fetch(`${body.url}/ok`)).status).toBe(200);
    // the assigned route leads there by its host
    const { custom_url: route } = body.source_config;
    expect(route).toMatch(new RegExp(`^http://from-git--${platform.namespace}\\.agents\\.localhost:\\d+$`));
    const routed = await answerAt(platform.credentials.restUrl, new URL(route ?? '').host, '/info');
    expect(routed).toBe(await (await fetch(`${body.url}/info`)).text());
    expect(routed).not.toBe(await (await fetch(`${platform.credentials.restUrl}/info`)).text());
    const revision = await arev('from-git-00001');
    expect(revision.status?.image).toMatch(/^local\/from-git@sha256:[0-9a-f]{64}$/);
    const kept = await client.get(CONFIG_MAPS, {
      namespace: platform.namespace,
      name: 'from-git-00001-build',
    });
    expect(kept.data?.['fetch.log']).toContain(`fetching ${commit}`);
    expect(kept.data?.['build.log']).toMatch(/in \/.*\/source\/agents\/weather\n/);
    // nothing of the build is left
    await waitFor(async () => {
      const key = { namespace: platform.namespace, name: 'from-git-00001-build' };
      return !(await client.find(JOBS, key)) && !(await client.find(SECRETS, key));
    });
    const images = join(platform.dataFolder, 'images', 'closed');
    const digest = revision.status?.image?.split('@')[1]?.replace(':', '-') ?? 'no digest';
    expect(readdirSync(images)).toEqual(expect.arrayContaining([digest, `${digest}.json`]));
    expect(
      spawnSync('grep', ['-rl', TOKEN, images, join(platform.dataFolder, 'logs')], { encoding: 'utf8' })
        .stdout,
    ).toBe('');
    // followed from here on: what was pushed before belongs to this revision
    const following = { source_config: { build_on_push: true } };
    expect((await rest.patch(`/v2/deployments/${deployment.id}`, following)).status).toBe(200);
    await waitFor(async () => (await followed('from-git')).status?.push?.commit === commit, PATIENT);
    const pushed = await source.commit({ 'README.md': 'Pushed.' });
    // the next look by itself is ten minutes away; which commit the call names does not count
    await announce({ ref: 'refs/heads/main', after: '1'.repeat(40), repository: { clone_url: source.url } });
    const next = { namespace: platform.namespace, name: 'from-git-00002' };
    await waitFor(
      async () =>
        (await client.find<AgentRevision>(RESOURCES.AgentRevision, next))?.status?.repoCommitSha === pushed,
      PATIENT,
    );
    // what tells that a later push is one, before the branch is looked at again
    const marks = [revision, await arev(next.name)].map(({ spec }) => spec.git?.buildOnPush);
    expect(marks).toEqual([undefined, true]);
  });

  it.each<[string, object, object, string, RegExp]>([
    [
      'a build command that fails',
      { build_command: 'echo what went wrong >&2; exit 3' },
      {},
      'BuildFailed',
      /^build command failed: exit code 3; its output is in the log of the build$/,
    ],
    [
      'a branch that does not exist',
      {},
      { repo_ref: 'none' },
      'RefNotFound',
      /^none does not exist in https:/,
    ],
  ])('reports %s by REST and on the resources', async (_, config, ref, reason, message) => {
    const name = `broken-${randomUUID().slice(0, 8)}`;
    const { last } = await follow(await deploy(name, config, ref));
    expect(last).toMatchObject({ status: 'BUILD_FAILED', status_reason: reason });
    expect(last.status_message).toMatch(message);
    await waitFor(async () => {
      const { status } = await arev(`${name}-00001`);
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      return ready?.status === 'False' && ready.reason === reason && ready.message === last.status_message;
    }, PATIENT);
    if (!('build_command' in config)) return;
    // the log is kept once the end is reported
    const place = { namespace: platform.namespace, name: `${name}-00001-build` };
    const kept = await waitFor(() => client.find(CONFIG_MAPS, place), PATIENT);
    expect(kept.data?.['build.log']).toContain('what went wrong');
  });

  itLong('queues a build again whose builder found the disk full', async () => {
    const mark = join(tmpdir(), `had-no-room-${randomUUID()}`);
    const message = JSON.stringify({ reason: 'DiskFull', message: 'no room' });
    // ends the builder with the message that it leaves then, the first time
    const build_command = [
      `test -e ${mark} && exit 0; : > ${mark}`,
      `path=$(tr '\\0' '\\n' < /proc/$PPID/environ | sed -n 's/^TERMINATION_MESSAGE_PATH=//p')`,
      `echo '${message}' > "$path"; kill -9 $PPID`,
    ].join('; ');
    const deployment = await deploy('no-room', { build_command });
    const built = () => arev('no-room-00001').then(({ status }) => status);
    const waits = await waitFor(async () => {
      const condition = (await built())?.conditions?.find(({ type }) => type === 'Built');
      return condition?.reason === 'BuildQueued' && /disk|Job/.test(condition.message) && (await built());
    }, PATIENT);
    expect(waits.build).toBeUndefined();
    expect((await follow(deployment)).last).toMatchObject({ status: 'DEPLOYED' });
    rmSync(mark);
  });
});
