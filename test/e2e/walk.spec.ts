import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Client } from '@langchain/langgraph-sdk';
import { Client as TraceClient } from 'langsmith';
import { waitFor } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { listProcesses, programsBelow } from '../support/process-tree.js';
import { Rest } from '../support/rest.js';
import { queryTraceStore } from '../support/trace-database.js';
import { agentAt, deployed, type Deployment, urlOf, walkRows } from './walk-rows.js';

/** Whether a process was given this text; only Linux tells. */
function mentions(pid: number, text: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(text);
  } catch {
    return false;
  }
}

const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write(
    'SKIPPED: deploying an agent in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n',
  );

/** What a new user does, in the order of the README, on the started platform. */
describe('first light', () => {
  const dataFolder = newDataFolder();
  const binary = findKubectl();
  let platform: Platform;
  let rest: Rest;
  let kubectl: Kubectl;

  beforeAll(async () => {
    platform = await startPlatform(dataFolder);
    rest = new Rest(platform.credentials);
    if (binary) kubectl = new Kubectl(binary, platform.credentials.kubeconfig);
    else leaveOut('kubectl');
  });

  afterAll(async () => {
    await platform.stop();
    removeDataFolder(dataFolder);
  });

  function agentHere(url: string): Client {
    return agentAt({ rest, reach: (same) => same }, url);
  }

  /** Processes that have to do with this platform: its data folder stands in their arguments or environment. */
  function leftovers(): string[] {
    return listProcesses()
      .filter(
        ({ pid, command }) =>
          pid !== process.pid && (command.includes(dataFolder) || mentions(pid, dataFolder)),
      )
      .map(({ pid, command }) => `${pid} ${command}`);
  }

  describe('the start', () => {
    it('says what a newcomer needs in under 15 lines', () => {
      const lines = platform.greeting.trim().split('\n');
      expect(lines.length).toBeLessThan(15);
      for (const said of [
        platform.credentials.restUrl,
        platform.credentials.apiKey,
        platform.credentials.tenantId,
        platform.credentials.kubeconfig,
        dataFolder,
      ])
        expect(platform.greeting).toContain(said);
      expect(lines.at(-1)).toMatch(/^Ready/);
    });

    it('keeps the credentials to the owner', () => {
      expect(existsSync(join(dataFolder, 'credentials.json'))).toBe(true);
    });
  });

  (binary ? describe : describe.skip)('kubectl', () => {
    it('applies the sample deployment and waits for it', async () => {
      const watch = kubectl.start(['get', 'adep', '-w']);
      await kubectl.run(['apply', '-f', join(repository, 'examples/deployment.yaml')]);
      await kubectl.run(['wait', '--for=condition=Ready', 'adep/sample-agent', '--timeout=90s']);
      await waitFor(() => watch.text().includes('sample-agent'), {
        what: 'the watch to show it',
      });
      watch.stop();
    });

    it('lists every kind with its short name, and describes', async () => {
      expect(await kubectl.run(['get', 'adep,arev'])).toMatch(/sample-agent-00001/);
      await kubectl.run(['get', 'bx,bxr']);
      expect(await kubectl.run(['get', 'bxd'])).toMatch(/local/);
      expect(await kubectl.run(['describe', 'adep', 'sample-agent'])).toMatch(/Revision/);
    });

    it('shows the logs of the agent', async () => {
      const pod = (
        await kubectl.run(['get', 'pods', '-l', 'agentplane.dev/revision=sample-agent-00001', '-o', 'name'])
      ).trim();
      expect((await kubectl.run(['logs', pod])).length).toBeGreaterThan(0);
    });

    it('edits', async () => {
      const editor = join(dataFolder, 'editor.sh');
      writeFileSync(
        editor,
        '#!/bin/sh\nsed -i "s/^  name: sample-agent$/&\\n  annotations:\\n    example.com\\/edited: \\"yes\\"/" "$1"\n',
        {
          mode: 0o755,
        },
      );
      await kubectl.run(['edit', 'adep', 'sample-agent'], { env: { KUBE_EDITOR: editor } });
      expect(await kubectl.run(['get', 'adep', 'sample-agent', '-o', 'yaml'])).toContain(
        'example.com/edited',
      );
    });

    it('refuses to change what is immutable', async () => {
      const text = readFileSync(join(repository, 'examples/deployment.yaml'), 'utf8');
      const changed = text.replace('source: internal_image', 'source: external_image');
      const answer = await kubectl.try(['apply', '-f', '-'], { input: changed });
      expect(answer.code).not.toBe(0);
      expect(answer.stderr).toMatch(/immutable/i);
    });

    it('exports by a resource and waits for its end', async () => {
      const rows = await agentRuns();
      expect(rows).toBeGreaterThan(0);
      await kubectl.run(['apply', '-f', join(repository, 'examples/export.yaml')]);
      const name = (await kubectl.run(['get', 'bx', '-o', 'jsonpath={.items[0].metadata.name}'])).trim();
      await kubectl.run(['wait', '--for=condition=Completed', `bx/${name}`, '--timeout=90s']);
      expect(await kubectl.run(['get', 'bx', name])).toMatch(name);
    });

    async function agentRuns(): Promise<number> {
      const url = (await kubectl.run(['get', 'adep', 'sample-agent', '-o', 'jsonpath={.status.url}'])).trim();
      const client = agentHere(url);
      await client.runs.wait(null, 'agent', { input: { messages: [{ role: 'user', content: 'hello' }] } });
      return 1;
    }

    it('deletes and leaves nothing behind', async () => {
      await kubectl.run(['delete', 'adep', 'sample-agent', '--timeout=60s']);
      await waitFor(
        async () => {
          const left = await kubectl.run([
            'get',
            'arev,pods',
            '-l',
            'agentplane.dev/deployment=sample-agent',
            '-o',
            'name',
          ]);
          return left.trim() === '';
        },
        { what: 'revisions and pods to go' },
      );
    });
  });

  (python ? describe : describe.skip)('an agent in Python', () => {
    it('deploys from its folder, answers the LangGraph SDK and sends traces to its own project', async () => {
      const wheels = join(dataFolder, 'wheels');
      const pack = join(repository, 'libs/image-store/testdata/python/pack-wheels.py');
      execFileSync(python ?? '', [pack, wheels]);
      const folder = join(repository, 'examples', 'new-python-agent');
      const words = ['bin/agentplane.js', 'image', 'add', 'python-agent', folder, '--data', dataFolder];
      const PATH = `${dirname(realpathSync(python ?? ''))}:/usr/bin:/bin`;
      const env = { ...process.env, PATH, PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels };
      await promisify(execFile)(process.execPath, words, { cwd: repository, env });
      const { body: made } = await rest.post<Deployment>('/v2/deployments', {
        name: 'snake',
        source: 'internal_image',
        source_config: {},
        source_revision_config: { image_uri: 'python-agent' },
        secrets: [],
      });
      await deployed(rest, made.id, made.latest_revision_id ?? '');
      const client = agentHere(await urlOf(rest, made.id));
      const { thread_id: threadId } = await client.threads.create();
      const input = { messages: [{ role: 'user', content: 'weather in Rome' }] };
      let runId = '';
      for await (const { event, data } of client.runs.stream(threadId, 'agent', { input }))
        if (event === 'metadata') runId = (data as { run_id: string }).run_id;
      const { values } = await client.threads.getState<{ messages: { content: string }[] }>(threadId);
      expect(values.messages.at(-1)?.content).toBe('Done: sunny in Rome.');
      const { restUrl: apiUrl, apiKey } = platform.credentials;
      const traces = new TraceClient({ apiUrl, apiKey });
      const run = await waitFor(
        async () => {
          const found = await traces.readRun(runId);
          return found.end_time ? found : undefined;
        },
        { what: 'the trace', intervalMs: 100 },
      );
      const { body: projects } = await rest.get<{ id: string }[]>('/sessions?name=snake');
      expect(projects.map(({ id }) => id)).toEqual([run.session_id]);
      expect(run).toMatchObject({ status: 'success', run_type: 'chain' });
    });
  });

  describe('REST, the agent, its traces and their export', () => {
    const deployment = walkRows(() => ({
      rest,
      kubectl,
      agent: { source: 'internal_image', source_revision_config: { image_uri: 'sample-agent' } },
      objectStore: platform.credentials.objectStore,
      reach: (url) => url,
      queryTraceStore: (sql, values) => queryTraceStore(dataFolder, sql, values),
    }));

    it('keeps everything over a stop and a second start', async () => {
      expect(await platform.stop()).toBe(0);
      expect(leftovers()).toEqual([]);
      const before = platform.credentials;
      platform = await startPlatform(dataFolder);
      rest = new Rest(platform.credentials);
      expect(platform.credentials).toEqual(before);
      const { body } = await rest.get<Deployment>(`/v2/deployments/${deployment().id}`);
      expect(body.status).toBe('READY');
      const client = agentHere(await urlOf(rest, deployment().id));
      await waitFor(
        async () => {
          await client.runs.wait(null, 'agent', {
            input: { messages: [{ role: 'user', content: 'back?' }] },
          });
          return true;
        },
        { what: 'the agent to answer again' },
      );
      const sessions = await rest.get<unknown[]>('/sessions?name=weather');
      expect(sessions.body).toHaveLength(1);
    });

    it('survives kill -9 and a new start', async () => {
      const former = programsBelow(platform.process.pid ?? 0, 'agent-server').map(({ pid }) => pid);
      await platform.kill();
      platform = await startPlatform(dataFolder);
      rest = new Rest(platform.credentials);
      const agents = await waitFor(
        () => {
          const found = programsBelow(platform.process.pid ?? 0, 'agent-server').map(({ pid }) => pid);
          // a former revision stays warm for two minutes at most
          return found.length > 0 && found;
        },
        { what: 'an agent server' },
      );
      expect(agents.filter((pid) => former.includes(pid))).toEqual([]);
      expect(listProcesses().filter(({ pid }) => former.includes(pid))).toEqual([]);
      const client = agentHere(await urlOf(rest, deployment().id));
      await waitFor(
        async () => {
          await client.runs.wait(null, 'agent', {
            input: { messages: [{ role: 'user', content: 'back?' }] },
          });
          return true;
        },
        { what: 'the agent to answer again' },
      );
    });

    it('stops by a command, which waits until it has stopped', async () => {
      const attempt = (word: string) => agentplane([word, '--data', dataFolder]);
      const ended = await attempt('down');
      expect([ended.code, ended.output]).toEqual([0, `platform over ${dataFolder} stopped\n`]);
      expect(await platform.stop()).toBe(0);
      expect((await attempt('status')).code).toBe(4);
      const again = await attempt('down');
      expect([again.code, again.complaint]).toEqual([0, expect.stringContaining('nothing to stop')]);
    });
  });
});
