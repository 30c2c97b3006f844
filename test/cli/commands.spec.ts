import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { openObjectStore } from '#lib/object-store';
import { RESOURCES, SECRETS } from '#lib/resources';
import { itLong, waitFor } from '#lib/testing';
import { findKubectl, leaveOut } from '../support/kubectl.js';
import { sharedPlatform, takeOverAfter } from '../support/shared-platform.js';
import { agentplane, type Ending, startAgentplane } from './agentplane.js';

/** Every command against a platform that really runs; in one workspace for all of them, in this order. */
describe('agentplane with a platform', () => {
  const platform = sharedPlatform();
  let client: KubeClient;
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-commands-'));
  const kubectl = findKubectl();
  const contexts = { XDG_CONFIG_HOME: join(folder, 'config') };

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: platform.credentials.kubeconfig });
    client = new KubeClient(connection);
  });
  afterAll(async () => {
    await client?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Against the data folder; one that must end well. */
  async function run(...words: string[]): Promise<string> {
    const ending = await attempt(...words);
    if (ending.code !== 0)
      throw new Error(`${words.join(' ')} ended with ${ending.code}: ${ending.complaint}`);
    return ending.output;
  }

  function attempt(...words: string[]): Promise<Ending> {
    return agentplane([...words, '--data', platform.dataFolder]);
  }

  const statusOf = async (apiKey: string): Promise<number> =>
    (await fetch(`${platform.credentials.restUrl}/sessions`, { headers: { 'x-api-key': apiKey } })).status;

  describe('keys', () => {
    it('creates a key that opens the workspace until it is revoked', async () => {
      const made = await attempt('keys', 'create', 'laptop');
      const key = made.output.trim();
      expect(await statusOf(key)).toBe(200);
      const listed = JSON.parse(await run('keys', 'list', '-o', 'json')) as {
        id: string;
        description: string;
        scope: string;
      }[];
      expect(listed.map(({ description, scope }) => `${scope} ${description}`)).toEqual(
        expect.arrayContaining(['workspace laptop', 'workspace first key']),
      );
      expect(JSON.stringify(listed)).not.toContain(key);
      const id = listed.find(({ description }) => description === 'laptop')?.id ?? '';
      expect(made.complaint).toContain(`agentplane keys revoke ${id}`);
      await run('keys', 'revoke', id);
      expect(await statusOf(key)).toBe(401);
      expect(await run('keys', 'list')).not.toContain('laptop');
      expect(await run('keys', 'list', '--all')).toMatch(/laptop +workspace .*Z +never .*Z +\d{4}-/);
      const again = await attempt('keys', 'revoke', id);
      expect([again.code, again.complaint]).toEqual([3, expect.stringContaining(`API key ${id} not found`)]);
    });

    it('creates a key of a scope that expires', async () => {
      const made = await attempt('keys', 'create', 'reader', '--scope', 'read', '--expires', '30d');
      const key = made.output.trim();
      expect(await statusOf(key)).toBe(200);
      const written = await fetch(`${platform.credentials.restUrl}/sessions`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: '{"name": "of a reader"}',
      });
      expect(written.status).toBe(403);
      const listed = await run('keys', 'list');
      expect(listed).toMatch(/^ID +NAME +SCOPE +CREATED +EXPIRES +LAST USED/);
      expect(listed).toMatch(/reader +read +\d{4}-.*Z +\d{4}-.*Z/);
      const [id = ''] = /^\S+(?= +reader )/m.exec(listed) ?? [];
      const [, end = ''] = /reader +read +\S+ +(\S+)/.exec(listed) ?? [];
      expect(Math.round((Date.parse(end) - Date.now()) / 86_400_000)).toBe(30);
      await run('keys', 'revoke', id);
    });

    it.each([
      ['--scope', 'deployment', 'Allowed choices are workspace, ingest, read, invoke'],
      ['--expires', 'soon', 'must look like'],
      ['--expires', '99999999d', 'must be at most'],
    ])('refuses %s %s', async (option, value, says) => {
      const { code, complaint } = await attempt('keys', 'create', 'x', option, value);
      expect([code, complaint]).toEqual([2, expect.stringContaining(says)]);
    });

    it('prints what is known of a new key, lists by scope, and revokes by name', async () => {
      const made = JSON.parse(
        await run('keys', 'create', 'pipeline', '--scope', 'ingest', '-o', 'json'),
      ) as object;
      expect(made).toMatchObject({
        description: 'pipeline',
        scope: 'ingest',
        key: expect.stringMatching(/^apk_/),
      });
      const ofScope = await run('keys', 'list', '--scope', 'ingest', '-o', 'jsonpath={[*].description}');
      expect(ofScope).toBe('pipeline');
      expect((await run('keys', 'list', '--limit', '1')).trimEnd().split('\n')).toHaveLength(2);
      expect(await run('keys', 'revoke', 'pipeline')).toMatch(/^key \S+ \(pipeline\) revoked\n$/);
      const ids = [
        await run('keys', 'create', 'twice', '-o', 'name'),
        await run('keys', 'create', 'twice', '-o', 'name'),
      ];
      const { code, complaint } = await attempt('keys', 'revoke', 'twice');
      expect([code, complaint]).toEqual([2, expect.stringContaining('2 keys are named twice')]);
      for (const id of ids) await run('keys', 'revoke', id.trim());
    });

    it('shows plan, limits and use of the workspace of the key', async () => {
      const text = await run('workspace', 'show');
      const { workspace: name } = platform;
      expect(text).toMatch(new RegExp(`^workspace +${name}\\b.*\\nplan +enterprise\\nstate +ready\\n`));
      expect(text).toMatch(/\nlisteners +1 +\d+ {2}[█▏▎▍▌▋▊▉░]{20} +\d+ %\n/);
      expect(await run('workspace', 'show', '-o', 'name')).toBe(`${name}\n`);
      expect(await run('workspace', 'show', '-o', 'jsonpath={.usage.listeners}')).toBe('1');
      expect(JSON.parse(await run('workspace', 'show', '-o', 'json'))).toMatchObject({ plan: 'enterprise' });
      expect(parse(await run('workspace', 'show', '-o', 'yaml'))).toMatchObject({ name });
    });

    it('creates the first key of a second workspace', async () => {
      const tenantId = randomUUID();
      await client.create(RESOURCES.Workspace, {
        metadata: { name: 'team-b' },
        spec: { tenantId, plan: 'plus' },
      });
      const key = await waitFor(
        async () => {
          const made = await attempt('keys', 'create', 'first', '--workspace', 'team-b');
          return made.code === 0 && made.output.trim();
        },
        { what: 'the workspace' },
      );
      expect(await statusOf(key)).toBe(200);
      expect(await run('keys', 'list', '--workspace', 'team-b', '-o', 'jsonpath={[*].description}')).toBe(
        'first',
      );
      expect(await run('keys', 'list', '-o', 'jsonpath={[*].description}')).toBe('first key');
    });

    it('names the missing workspace', async () => {
      const { code, complaint } = await attempt('keys', 'list', '--workspace', 'nowhere');
      expect([code, complaint]).toEqual([3, expect.stringContaining('Workspace nowhere does not exist')]);
    });
  });

  describe('contexts', () => {
    const withContexts = (...words: string[]): Promise<Ending> =>
      agentplane(words, { environment: contexts, cwd: folder });

    it('reaches a platform by its name, from any folder', async () => {
      const keyFile = join(folder, 'key');
      writeFileSync(keyFile, `${platform.credentials.apiKey}\n`);
      const { restUrl, kubeconfig } = platform.credentials;
      const added = await withContexts(
        ...['contexts', 'add', 'home', '--address', restUrl, '--key-file', keyFile],
        ...['--region', 'kitchen', '--kubeconfig', kubeconfig],
      );
      expect([added.code, added.complaint]).toEqual([0, '']);
      expect(statSync(join(folder, 'config', 'agentplane', 'contexts.json')).mode & 0o777).toBe(0o600);
      expect((await withContexts('keys', 'list')).code).toBe(4);
      expect((await withContexts('keys', 'list', '--context', 'home')).output).toContain('first key');
      await withContexts('contexts', 'use', 'home');
      expect((await withContexts('keys', 'list')).output).toContain('first key');
      const list = (await withContexts('contexts', 'list')).output;
      expect(list).toMatch(/^ +local .*\n\* +home +http.*kitchen$/m);
      expect(list).not.toContain(platform.credentials.apiKey);
      const asLocal = await agentplane(['keys', 'list'], {
        environment: { ...contexts, AGENTPLANE_CONTEXT: 'local' },
        cwd: folder,
      });
      expect(asLocal.code).toBe(4);
    });

    it('refuses another workspace than the one of its key', async () => {
      const { code, complaint } = await withContexts('keys', 'list', '--context', 'home', '-w', 'team-b');
      expect([code, complaint]).toEqual([
        2,
        expect.stringContaining('context home has a key of one workspace'),
      ]);
    });

    it('reports a key that the platform refuses', async () => {
      const added = await agentplane(
        ['contexts', 'add', 'wrong', '--address', platform.credentials.restUrl, '--key-file', '-'],
        { environment: contexts, cwd: folder, input: 'apk_wrong' },
      );
      expect(added.code).toBe(0);
      const { code, complaint } = await withContexts('keys', 'list', '--context', 'wrong');
      expect([code, complaint]).toEqual([6, expect.stringContaining('The API key is not valid')]);
    });

    it('reports an address that does not answer', async () => {
      await agentplane(['contexts', 'add', 'dark', '--address', 'http://127.0.0.1:1', '--key-file', '-'], {
        environment: contexts,
        input: 'apk_x',
      });
      const { code, complaint } = await withContexts('keys', 'list', '--context', 'dark');
      expect([code, complaint]).toEqual([4, expect.stringContaining('http://127.0.0.1:1 did not answer')]);
    });

    it('forgets a context, and names the known ones where one is missing', async () => {
      await withContexts('contexts', 'remove', 'wrong');
      const { code, complaint } = await withContexts('contexts', 'use', 'wrong');
      expect([code, complaint]).toEqual([
        3,
        expect.stringContaining('context wrong does not exist: known are local, home, dark'),
      ]);
      expect(existsSync(join(folder, 'config', 'agentplane', 'contexts.json'))).toBe(true);
    });
  });

  describe('deploy', () => {
    it('makes a deployment from an image of the store, and waits until it serves', async () => {
      const made = await attempt('deploy', 'sample-agent');
      expect([made.code, made.output]).toEqual([
        0,
        expect.stringMatching(
          /^agentdeployment\.agentplane\.dev\/sample-agent created\nsample-agent-00001 serves at http:\/\/127\.0\.0\.1:\d+\n$/,
        ),
      ]);
      expect(made.complaint).toMatch(/^sample-agent: sample-agent-00001: /m);
    });

    it('gives a deployment a new revision of its image', async () => {
      await takeOverAfter(platform.credentials, 'sample-agent');
      expect(await run('deploy', 'sample-agent')).toMatch(/changed\nsample-agent-00002 serves/);
    });

    it('applies a manifest, and reports an unchanged one', async () => {
      const file = join(folder, 'deployment.yaml');
      writeFileSync(file, MANIFEST);
      expect(await run('deploy', '-f', file)).toMatch(/from-file created\nfrom-file-00001 serves/);
      expect(await run('deploy', '-f', file)).toMatch(/from-file unchanged\nfrom-file-00001 serves/);
    });

    it('reports why a deployment fails', async () => {
      const file = join(folder, 'secret-missing.yaml');
      writeFileSync(
        file,
        MANIFEST.replace('from-file', 'incomplete').concat('  secretsRef: { name: none }\n'),
      );
      const { code, complaint } = await attempt('deploy', '-f', file, '--timeout', '60s');
      expect([code, complaint]).toEqual([
        1,
        expect.stringMatching(
          /deploying incomplete failed \(SecretMissing\): .*none.*describe adep incomplete/s,
        ),
      ]);
    });

    it('stops waiting after its timeout, and does not wait with --no-wait', async () => {
      expect(await run('deploy', 'later', '--image', 'missing', '--no-wait')).toMatch(/later created\n$/);
      const { code, complaint } = await attempt('deploy', 'later', '--timeout', '1s');
      expect([code, complaint]).toEqual([5, expect.stringContaining('later is not ready after 1 s')]);
    });

    it.each([
      ['a name and a file', ['deploy', 'x', '-f', 'y'], 2, /not both/],
      ['a file that does not exist', ['deploy', '-f', '/nowhere'], 1, /reading \/nowhere failed/],
      ['a manifest with variables', ['deploy', '-f', 'x', '--secrets', 'y'], 2, /secretsRef/],
      [
        'a file without a deployment',
        ['deploy', '-f', 'examples/destination.yaml'],
        2,
        /holds no AgentDeployment: "agentplane apply -f/,
      ],
      ['a duration that is none', ['deploy', 'x', '--timeout', 'long'], 2, /must look like 30s/],
    ])('refuses %s', async (_what, words, code, message) => {
      const ending = await attempt(...words);
      expect([ending.code, ending.complaint]).toEqual([code, expect.stringMatching(message)]);
    });
  });

  describe('get', () => {
    it.each([
      ['adep', []],
      ['agentrevisions', ['-o', 'wide']],
      ['bxd', []],
      ['Listener', []],
      ['workspaces', []],
      ['pods', ['-o', 'name']],
      ['adep', ['-o', 'jsonpath={range .items[*]}{.metadata.name}={.spec.source}{"\\n"}{end}']],
    ])('prints %s %j as kubectl does', async (kind, words) => {
      if (kubectl === undefined) return leaveOut('kubectl');
      const env = { ...process.env, KUBECONFIG: platform.credentials.kubeconfig };
      let ours: readonly string[] = [];
      let theirs: readonly string[] = [];
      // an object may change between the two
      await waitFor(async () => {
        theirs = comparable(execFileSync(kubectl, ['get', kind, ...words], { env, encoding: 'utf8' }));
        ours = comparable(await run('get', kind, ...words));
        return isDeepStrictEqual(ours, theirs);
      }).catch(() => expect(ours).toEqual(theirs));
    });

    it('prints the document of an object as kubectl does', async () => {
      if (kubectl === undefined) return leaveOut('kubectl');
      const words = ['get', 'bxd', 'local', '-o', 'json'];
      const theirs = execFileSync(kubectl, words, {
        env: { ...process.env, KUBECONFIG: platform.credentials.kubeconfig },
        encoding: 'utf8',
      });
      expect(JSON.parse(await run(...words))).toEqual(JSON.parse(theirs));
      expect(parse(await run('get', 'bxd', 'local', '-o', 'yaml'))).toEqual(JSON.parse(theirs));
    });

    it('finds an object by the id of the REST interface', async () => {
      const answer = await fetch(`${platform.credentials.restUrl}/v2/deployments`, {
        headers: { 'x-api-key': platform.credentials.apiKey },
      });
      const { resources } = (await answer.json()) as { resources: { id: string; name: string }[] };
      const sample = resources.find(({ name }) => name === 'sample-agent');
      expect(await run('get', 'adep', sample?.id ?? '', '-o', 'name')).toBe(
        'agentdeployment.agentplane.dev/sample-agent\n',
      );
    });

    it('selects by labels, namespaces and several kinds', async () => {
      const selector = 'agentplane.dev/deployment=from-file';
      const names = await run('get', 'arev,pods', '-l', selector, '-o', 'name');
      expect(names).toMatch(/^agentrevision\.agentplane\.dev\/from-file-00001\npod\/from-file-/);
      expect(await run('get', 'pods', '-A', '-l', selector)).toMatch(
        new RegExp(`^NAMESPACE +NAME.*\\n${platform.namespace} +from-file`),
      );
      const none = await attempt('get', 'adep', '-n', 'agentplane-system');
      expect([none.code, none.output, none.complaint]).toEqual([
        0,
        '',
        'No agentdeployments found in namespace agentplane-system.\n',
      ]);
    });

    it('lists no more of a kind than asked for', async () => {
      const names = (await run('get', 'arev,adep', '--limit', '1', '-o', 'name')).trimEnd().split('\n');
      expect(names.map((name) => name.split('/')[0])).toEqual([
        'agentrevision.agentplane.dev',
        'agentdeployment.agentplane.dev',
      ]);
      expect((await run('get', 'arev', '--limit', '2')).trimEnd().split('\n')).toHaveLength(3);
    });

    it('watches what changes until Ctrl-C', async () => {
      const file = join(folder, 'watched.yaml');
      const manifest = (text: string): string =>
        `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: watched }\ndata: { text: ${text} }\n`;
      writeFileSync(file, manifest('one'));
      expect(await run('apply', '-f', file)).toBe('configmap/watched created\n');
      expect(await run('apply', '-f', file)).toBe('configmap/watched unchanged\n');
      const words = ['--data', platform.dataFolder];
      const table = startAgentplane(['get', 'configmap', 'watched', '-w', ...words]);
      const texts = startAgentplane(['get', 'cm/watched', '-w', '-o', 'jsonpath={.data.text} ', ...words]);
      const shows = (what: string, found: () => boolean): Promise<unknown> => waitFor(found, { what });
      await shows('the table', () => /^NAME .*\nwatched /.test(table.output()));
      await shows('the text', () => texts.output() === 'one ');
      writeFileSync(file, manifest('two'));
      expect(await run('apply', '-f', file)).toBe('configmap/watched changed\n');
      await shows('the change', () => texts.output() === 'one two ');
      await shows('its row', () => /^NAME .*\nwatched .*\nwatched .*\n$/.test(table.output()));
      expect(await table.stop()).not.toBe(1);
      expect(await texts.stop()).not.toBe(1);
    });

    it.each([
      ['several kinds that are watched', ['get', 'adep,arev', '-w'], 2, /follows one kind/],
      ['an unknown kind', ['get', 'bogus'], 2, /kind bogus is not served by .*agentdeployments/],
      [
        'a missing object',
        ['get', 'adep', 'none'],
        3,
        /AgentDeployment none does not exist in namespace ws-tested-/,
      ],
      ['a template that cannot be read', ['get', 'adep', '-o', 'jsonpath={.a'], 2, /cannot be read at \{\.a/],
      ['a name given twice', ['get', 'adep/a', 'b'], 2, /KIND NAME or KIND\/NAME/],
    ])('refuses %s', async (_what, words, code, message) => {
      const ending = await attempt(...words);
      expect([ending.code, ending.complaint]).toEqual([code, expect.stringMatching(message)]);
    });
  });

  describe('secrets', () => {
    it('sets the secrets of a deployment, and shows their names', async () => {
      const file = join(folder, 'keys.env');
      writeFileSync(file, 'OPENAI_API_KEY="hidden words"\nOTHER=hidden\n');
      const done =
        /^sample-agent: added: OPENAI_API_KEY, OTHER\. Its secrets are now: .*\nsample-agent serves at http/;
      expect(await run('secrets', 'set', 'sample-agent', '-f', file)).toMatch(done);
      expect(await run('secrets', 'list', 'sample-agent')).toBe('NAME\nOPENAI_API_KEY\nOTHER\n');
      const { code, complaint } = await attempt('secrets', 'set', 'sample-agent');
      expect([code, complaint]).toEqual([2, expect.stringContaining('-f FILE')]);
    });
  });

  describe('delete', () => {
    it('says what would be lost, and deletes with --yes', async () => {
      const asked = await attempt('delete', 'adep', 'from-file');
      const lost = expect.stringMatching(/nothing was deleted; --yes deletes .*its database/);
      expect([asked.code, asked.complaint]).toEqual([2, lost]);
      const deleted = 'agentdeployment.agentplane.dev/from-file deleted\n';
      expect(await run('delete', 'adep/from-file', '--yes')).toBe(deleted);
      expect((await attempt('get', 'adep', 'from-file')).code).toBe(3);
      expect((await attempt('delete', 'adep', 'from-file', '--yes')).code).toBe(3);
      expect(await run('delete', 'cm', 'watched', '--yes')).toBe('configmap/watched deleted\n');
    });
  });

  describe('completion', () => {
    it('offers names that the platform has', async () => {
      expect((await run('complete-names', 'deployment')).split('\n')).toContain('sample-agent');
      expect((await run('complete-names', 'object', 'bxd')).split('\n')).toContain('local');
      expect((await run('complete-names', 'image')).split('\n')).toContain('sample-agent');
      expect((await run('complete-names', 'key')).split('\n')).toContain('first key');
      expect((await run('complete-names', 'workspace')).split('\n')).toContain('team-b');
    });

    it('offers nothing where nothing answers', async () => {
      const nothing = join(folder, 'nothing');
      const { code, output, complaint } = await agentplane(['complete-names', 'key', '--data', nothing]);
      expect([code, output, complaint]).toEqual([0, '', '']);
    });
  });

  describe('describe', () => {
    it('shows conditions and events of an object', async () => {
      const text = await run('describe', 'adep', 'sample-agent');
      expect(text).toMatch(
        new RegExp(
          `^Name: +sample-agent\\nNamespace: +${platform.namespace}\\nKind: +AgentDeployment\\nID: +[0-9a-f-]{36}`,
        ),
      );
      expect(text).toMatch(/Conditions:\n +TYPE.*\n(.*\n)* +Ready +True /);
      expect(text).toMatch(/Events:\n +AGE.*\n(.*\n)*.*Normal/);
    });

    it('hides what a Secret holds', async () => {
      const at = { namespace: platform.namespace, name: 'local-destination' };
      const held = (await client.get(SECRETS, at)).data?.['secret_access_key'] ?? '';
      const text = await run('describe', 'secret', at.name);
      expect(text).toMatch(/secret_access_key: \d+ bytes/);
      expect(held).not.toBe('');
      for (const form of [held, Buffer.from(held, 'base64').toString()]) expect(text).not.toContain(form);
    });
  });

  describe('logs', () => {
    it('prints the log of every pod of a deployment', async () => {
      expect(await run('logs', 'sample-agent')).toMatch(/info {2}ready port=\d+/);
      expect(await run('logs', 'sample-agent', '-o', 'json')).toContain('"msg":"ready"');
      const last = await run('logs', 'adep/sample-agent', '--tail', '2', '--timestamps', '--since', '1h');
      expect(last.trimEnd().split('\n')).toHaveLength(2);
      expect(last).toMatch(/^(\[[^\]]+\] )?\d{4}-\d\d-\d\dT/);
    });

    it('prints the log of one revision, by number as by id', async () => {
      const { items } = await client.list(RESOURCES.AgentRevision, { namespace: platform.namespace });
      // the pods of those before it may end at any time
      const [newest] = items
        .map(({ metadata }) => metadata)
        .filter(({ name }) => /^sample-agent-\d{5}$/.test(name))
        .sort((one, other) => other.name.localeCompare(one.name));
      const number = String(Number(newest?.name.slice(-5)));
      expect(await run('logs', 'sample-agent', '--revision', number)).toContain('ready port=');
      const id = newest?.annotations?.['agentplane.dev/id'] ?? newest?.uid ?? '';
      expect(await run('logs', 'sample-agent', '--revision', id)).toContain('ready port=');
    });

    it('prints the same by REST where the context has no kubeconfig', async () => {
      const { restUrl, apiKey } = platform.credentials;
      await agentplane(['contexts', 'add', 'rest-alone', '--address', restUrl, '--key-file', '-'], {
        environment: contexts,
        cwd: folder,
        input: apiKey,
      });
      const surroundings = { environment: { ...contexts, AGENTPLANE_CONTEXT: 'rest-alone' }, cwd: folder };
      const { code, output } = await agentplane(['logs', 'sample-agent', '--tail', '10000'], surroundings);
      expect([code, output.includes('ready port=')]).toEqual([0, true]);
      const listener = await agentplane(['logs', 'lsn/default'], surroundings);
      expect([listener.code, listener.complaint]).toEqual([
        2,
        expect.stringMatching(/need the Kubernetes API, and the context has no kubeconfig/),
      ]);
      await agentplane(['contexts', 'remove', 'rest-alone'], surroundings);
    });

    it('follows a log until Ctrl-C', async () => {
      const following = startAgentplane(['logs', 'lsn/default', '-f', '--data', platform.dataFolder]);
      await waitFor(() => following.output().includes('info  '), { what: 'the log' });
      expect(await following.stop()).not.toBe(1);
    });

    it.each([
      ['an object that does not exist', ['logs', 'none'], 3, /none does not exist in namespace ws-tested-/],
      [
        'a deployment without pods',
        ['logs', 'incomplete'],
        3,
        /has no pods: "agentplane describe adep incomplete"/,
      ],
      ['a kind without logs', ['logs', 'wsp/default'], 2, /names nothing with logs/],
      [
        'a container that does not exist',
        ['logs', 'sample-agent', '-c', 'none'],
        3,
        /has no container none: it has agent/,
      ],
      [
        'a revision that does not exist',
        ['logs', 'sample-agent', '--revision', '99'],
        3,
        /AgentDeployment sample-agent has no revision 99/,
      ],
      ['the end of what goes on', ['logs', 'sample-agent', '-f', '-p'], 2, /leave out --follow/],
    ])('refuses %s', async (_what, words, code, message) => {
      const ending = await attempt(...words);
      expect([ending.code, ending.complaint]).toEqual([code, expect.stringMatching(message)]);
    });
  });

  describe('events', () => {
    it('shows what happened to a deployment, or to all, newest last', async () => {
      const table = await run('events', 'sample-agent');
      expect(table).toMatch(/^LAST +TYPE +COUNT +REASON +OBJECT +MESSAGE\n/);
      for (const one of [table, await run('events')])
        expect(one).toMatch(/TrafficSwitched +AgentDeployment\/sample-agent/);
      expect(table).toMatch(/Pod\/sample-agent-0000\d-/);
      const events = await run('events', 'sample-agent', '-o', 'json', '--limit', '2');
      expect(JSON.parse(events)).toHaveLength(2);
    });

    it('watches until Ctrl-C', async () => {
      const watching = startAgentplane(['events', 'sample-agent', '-w', '--data', platform.dataFolder]);
      await waitFor(() => watching.output().includes('REASON'), { what: 'the table' });
      expect(await watching.stop()).not.toBe(1);
    });

    it('refuses a deployment that does not exist', async () => {
      const { code, complaint } = await attempt('events', 'none');
      expect([code, complaint]).toEqual([3, 'deployment none does not exist in this workspace\n']);
    });
  });

  describe('traces', () => {
    const [trace, child] = [randomUUID(), randomUUID()];
    const project = 'traced';

    it('lists, shows and follows what agents did', async () => {
      const { restUrl, apiKey } = platform.credentials;
      const start = Date.now() - 60_000;
      const send = async (post: readonly object[]): Promise<void> => {
        const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
        const body = JSON.stringify({ post, patch: [] });
        expect((await fetch(`${restUrl}/runs/batch`, { method: 'POST', headers, body })).status).toBe(202);
      };
      const root = { id: trace, trace_id: trace, name: 'agent', run_type: 'chain', session_name: project };
      const times = { start_time: start, end_time: start + 2_000 };
      const usage_metadata = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
      await send([
        { ...root, ...times, inputs: { question: 'why\u001b[2J' } },
        {
          ...root,
          id: child,
          parent_run_id: trace,
          name: 'model',
          run_type: 'llm',
          ...times,
          start_time: start + 1_000,
          error: 'first line\nsecond',
          outputs: { usage_metadata },
        },
      ]);
      const listed = await run('traces', 'list', '--project', project);
      expect(listed).toMatch(/^AGE +STATUS +INPUT +ANSWER +PROJECT.*\n\S+ +success +why.* 2\.00 s/);
      expect(listed).toContain(trace);
      expect(listed.trim().split('\n')).toHaveLength(2);
      const filter = 'gt(total_tokens, 6)';
      const words = ['traces', 'list', '--project', project, '--children', '--errors', '--filter', filter];
      expect(await run(...words, '-o', 'name')).toBe(`${child}\n`);
      const shown = await run('traces', 'show', child);
      expect(shown).toMatch(/^agent +chain +success +2\.00 s.*█{24}$/m);
      expect(shown).toMatch(/^└─ model +llm +error +1\.00 s +7 .*·{12}█{12} +first line$/m);
      const spans = { ...root, ...times, id: randomUUID(), trace_id: randomUUID(), name: 'span' };
      await send([spans]);
      for (const id of [spans.trace_id, spans.trace_id.replaceAll('-', ''), spans.id])
        expect(await run('traces', 'show', id)).toMatch(/^span +chain +success /m);
      const values = await run('traces', 'show', trace, '--values');
      expect(values).toContain('question: "why\\e[2J"');
      const following = startAgentplane([
        'traces',
        'tail',
        '--project',
        project,
        '--data',
        platform.dataFolder,
      ]);
      const later = randomUUID();
      // it ends after the command has begun, however long that takes
      const now = { start_time: Date.now(), end_time: Date.now() + 600_000 };
      await send([{ ...root, ...now, id: later, trace_id: later }]);
      await waitFor(() => following.output().includes(later), { what: 'the line of the trace' });
      expect(following.output()).not.toContain(trace);
      expect(await following.stop()).not.toBe(1);
    });

    it('names what does not exist', async () => {
      const missing = await attempt('traces', 'show', randomUUID());
      expect([missing.code, missing.complaint]).toEqual([3, expect.stringContaining('traces list')]);
      expect((await attempt('traces', 'show', 'x')).code).toBe(2);
      expect((await attempt('traces', 'list', '--project', 'absent')).code).toBe(3);
      expect((await attempt('traces', 'list', '--filter', 'eq(')).complaint).toContain('expected');
    });
  });

  describe('prices', () => {
    it('prices a model, and runs of it that are stored', async () => {
      const { restUrl, apiKey } = platform.credentials;
      const [id, project] = [randomUUID(), 'priced'];
      const call = {
        id,
        trace_id: id,
        name: 'call',
        run_type: 'llm',
        session_name: project,
        start_time: Date.now() - 60_000,
        end_time: Date.now(),
        extra: { metadata: { ls_model_name: 'house-large', ls_provider: 'acme' } },
        outputs: { usage_metadata: { input_tokens: 1_000, output_tokens: 100 } },
      };
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
      const body = JSON.stringify({ post: [call], patch: [] });
      expect((await fetch(`${restUrl}/runs/batch`, { method: 'POST', headers, body })).status).toBe(202);
      const unmatched = await run('prices', 'unmatched', '--project', project, '--last', '1h');
      expect(unmatched).toMatch(/^MODEL +PROVIDER +RUNS +TOKENS +LAST *\nhouse-large +acme +1 +1100 /);
      const words = ['--input', '2.5', '--completion', '10', '--input-kind', 'cache_read=0.25'];
      const price = (await run('prices', 'set', 'house-large', ...words)).trim();
      const listed = await run('prices', 'list', '--search', 'house', '-o', 'wide');
      expect(listed).toContain(price);
      expect(listed).toMatch(/house-large .*2\.5 +10 +cache_read=0\.25 /);
      expect(await run('prices', 'list')).toMatch(/gpt-4o-mini +0\.15 +0\.6 +platform, 20/);
      const applied = JSON.parse(await run('prices', 'apply', project, '-o', 'json')) as object[];
      expect(applied).toMatchObject([{ status: 'completed', runs_changed: 1, runs_without_price: 0 }]);
      // 0.0025 for the prompt, 0.001 for the completion
      expect(await run('traces', 'show', id)).toMatch(/call +.*1100 +0\.003500 /);
      await run('prices', 'remove', price);
      expect(await run('prices', 'list', '--search', 'house', '-o', 'json')).toBe('[]\n');
      expect((await attempt('prices', 'remove', price)).code).toBe(3);
      expect((await attempt('prices', 'set', 'none', '--input', '1')).code).toBe(2);
      expect((await attempt('prices', 'apply', 'absent')).code).toBe(3);
    });
  });

  describe('export create', () => {
    it('exports a project, and waits with progress until it is complete', async () => {
      const words = ['--project', 'sample-agent', '--last', '1h', '--compression', 'gzip', '--wait'];
      const made = await attempt('export', 'create', 'walk', ...words);
      expect([made.code, made.output]).toEqual([
        0,
        expect.stringMatching(
          /^bulkexport\.agentplane\.dev\/walk created\nwalk completed: 0 rows, \d+ bytes\n$/,
        ),
      ]);
      expect(await run('get', 'bx', 'walk', '-o', 'jsonpath={.spec.compression}')).toBe('gzip');
      const again = await attempt('export', 'create', 'walk', ...words);
      expect([again.code, again.complaint]).toEqual([1, expect.stringMatching(/"walk" already exists/)]);
    });

    it('gives an export a webhook', async () => {
      const words = ['--project', 'sample-agent', '--last', '1h', '--webhook-secret', 'signing'];
      const url = 'https://receiver.invalid/hook';
      await run('export', 'create', 'called', ...words, '--webhook', url);
      const shown = await run(
        'get',
        'bx',
        'called',
        '-o',
        'jsonpath={.spec.webhook.url} {.spec.webhook.secretRef.name}',
      );
      expect(shown).toBe(`${url} signing`);
      const alone = await attempt('export', 'create', 'alone', ...words);
      expect([alone.code, alone.complaint]).toEqual([2, expect.stringContaining('--webhook')]);
    });

    it('estimates an export without making it', async () => {
      const before = await run('get', 'bx', '-o', 'name');
      const words = ['--project', 'sample-agent', '--last', '2d', '--dry-run'];
      expect(await run('export', 'create', ...words)).toMatch(
        /^nothing was created\nwindow  \S+ to \S+\nruns    [23], a UTC day each\nrows    \d+\nbytes   about \d+ \(1300 a row, a default\)\ntime    about \d+ s\n$/,
      );
      expect(await run('get', 'bx', '-o', 'name')).toBe(before);
      const absent = await attempt('export', 'create', ...words, '--destination', 'none');
      expect([absent.code, absent.complaint]).toEqual([3, expect.stringContaining('none')]);
    });

    it('compares an export with its bucket', async () => {
      const id = await run('get', 'bx', 'walk', '-o', 'jsonpath={.metadata.uid}');
      expect((await attempt('export', 'files', 'walk')).complaint).toContain('has no finished file yet');
      const verified = await attempt('export', 'verify', 'walk');
      expect([verified.code, verified.output]).toEqual([
        0,
        expect.stringMatching(/^walk verified: 0 rows of \d days?\ncompared: .* checksums of files; .*\n$/),
      ]);
      const { objectStore } = platform.credentials;
      const store = openObjectStore({ ...objectStore, allowPrivateEndpoints: true });
      const keys: string[] = [];
      for await (const { key } of store.list(objectStore.bucket, '')) keys.push(key);
      const [manifest = ''] = keys.filter((key) => key.includes(`manifests/export_id=${id}/runs/`));
      await store.delete(objectStore.bucket, manifest);
      store.close();
      const { code, output, complaint } = await attempt('export', 'verify', id, '--quick');
      expect([code, output]).toEqual([1, `${manifest}: the manifest does not exist\n`]);
      expect(complaint).toContain('1 difference');
      const absent = await attempt('export', 'verify', randomUUID());
      expect([absent.code, absent.complaint]).toEqual([3, expect.stringContaining('not found')]);
    });

    itLong('estimates, exports and verifies runs with their feedback as lines of JSON', async () => {
      const { restUrl, apiKey, objectStore } = platform.credentials;
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
      const post = async (path: string, body: object): Promise<boolean> =>
        (await fetch(restUrl + path, { method: 'POST', headers, body: JSON.stringify(body) })).ok;
      const id = randomUUID();
      const one = { id, trace_id: id, name: 'call', run_type: 'llm', session_name: 'lines' };
      const times = { start_time: Date.now() - 60_000, end_time: Date.now() - 59_000 };
      expect(await post('/runs/batch', { post: [{ ...one, ...times }], patch: [] })).toBe(true);
      expect(await post('/feedback', { run_id: id, key: 'k', score: 0.5 })).toBe(true);
      const words = ['--project', 'lines', '--last', '1h', '--files', 'jsonl', '--feedback'];
      expect(await run('export', 'create', ...words, '--dry-run')).toMatch(/^rows    1$/m);
      expect(await run('export', 'create', 'lines', ...words, '--wait')).toMatch(/completed: 1 rows/);
      const made = await run('get', 'bx', 'lines', '-o', 'jsonpath={.metadata.uid}');
      expect(await run('export', 'verify', made)).toMatch(
        /verified: 1 rows and 1 feedback of \d days?\ncompared: .*\n$/,
      );
      expect(await run('export', 'late', made, '--export')).toBe(`0 late runs of export ${made}\n`);
      expect(await post('/runs/batch', { post: [], patch: [{ id, trace_id: id, name: 'late' }] })).toBe(true);
      expect(await run('export', 'late', made)).toMatch(/^1 late run of export .*\nDAY .*\n\S+ +1 /);
      const answer = await run('export', 'late', made, '--export');
      const [, late = ''] =
        new RegExp(`^export (\\S+) exports the late runs of ${made}$`, 'm').exec(answer) ?? [];
      await run('export', 'watch', late);
      expect(await run('export', 'verify', late)).toMatch(/verified: 1 rows of \d days?\n/);
      // what the export of late runs has read may change again
      expect(await post('/runs/batch', { post: [], patch: [{ id, trace_id: id, name: 'later' }] })).toBe(
        true,
      );
      expect(await run('export', 'verify', late)).toMatch(/verified: 1 rows of \d days?\n/);
      expect(await post('/feedback', { run_id: id, key: 'k', comment: 'without a score' })).toBe(true);
      expect(await run('export', 'verify', made, '--quick')).toMatch(
        /1 rows and 1 feedback .*\ncompared: .*without feedback/,
      );
      const store = openObjectStore({ ...objectStore, allowPrivateEndpoints: true });
      const keys: string[] = [];
      for await (const { key } of store.list(objectStore.bucket, '')) if (key.includes(made)) keys.push(key);
      const [feedback = ''] = keys.filter((key) => /\/feedback\/.*\.jsonl\.zst$/.test(key));
      await store.delete(objectStore.bucket, feedback);
      store.close();
      const { code, output } = await attempt('export', 'verify', made);
      const [gone, more, ...others] = output.trimEnd().split('\n');
      expect([code, gone, more, others]).toEqual([
        1,
        `${feedback}: the file does not exist`,
        expect.stringMatching(/^from \S+ to \S+: 1 feedback exported, the trace store has 2 now; /),
        [],
      ]);
    });

    it('reports what an export waits for, and stops waiting after its timeout', async () => {
      const words = ['--project', 'none', '--wait', '--timeout', '2s'];
      const { code, output, complaint } = await attempt('export', 'create', ...words);
      expect(output).toMatch(/^bulkexport\.agentplane\.dev\/none-\d{8}t\d{6} created\n$/);
      expect([code, complaint]).toEqual([5, expect.stringMatching(/not complete after 2 s: .*none/)]);
    });

    it('reports why an export failed', async () => {
      const window = ['--from', '2026-05-01', '--to', '2026-05-02'];
      const words = ['export', 'create', 'doomed', '--project', 'none', ...window, '--wait'];
      const ended = attempt(...words);
      await waitFor(async () => (await attempt('get', 'bx', 'doomed')).code === 0, { what: 'the export' });
      await client.merge(
        RESOURCES.BulkExport,
        { name: 'doomed', namespace: platform.namespace },
        { spec: { cancel: true } },
      );
      const { code, complaint } = await ended;
      expect([code, complaint]).toEqual([1, expect.stringMatching(/ended as CANCELLED \(Cancelled\)/)]);
    });

    it('makes a schedule, pauses, resumes, runs and moves it, and cancels it', async () => {
      const from = new Date(Date.now() - 600_000).toISOString();
      await client.create(RESOURCES.BulkExportDestination, {
        metadata: { name: 'elsewhere', namespace: platform.namespace },
        spec: { type: 'object_store', config: { bucketName: 'elsewhere', includeBucketInPrefix: true } },
      });
      await run('export', 'create', 'beat', '--project', 'sample-agent', '--every', '1d', '--from', from);
      const field = (path: string) => run('get', 'bx', 'beat', '-o', `jsonpath={${path}}`);
      expect(await field('.spec.intervalHours')).toBe('24');
      expect(await run('export', 'pause', 'beat')).toBe('bulkexport.agentplane.dev/beat paused\n');
      expect(await field('.spec.suspend')).toBe('true');
      await run('export', 'resume', 'beat');
      await run('export', 'run-now', 'beat');
      await waitFor(
        async () => (await field('.status.handledRunRequestId')) === (await field('.spec.runRequest.id')),
        { what: 'the export that was asked for' },
      );
      expect(await run('export', 'move', 'beat', 'elsewhere')).toBe(
        'bulkexport.agentplane.dev/beat given another destination\n',
      );
      expect(await field('.spec.destinationRef.name')).toBe('elsewhere');
      const nowhere = await attempt('export', 'move', 'beat', 'nowhere');
      expect([nowhere.code, nowhere.complaint]).toEqual([3, expect.stringMatching(/nowhere does not exist/)]);
      await run('export', 'cancel', 'beat');
      const again = await attempt('export', 'run-now', 'beat');
      expect([again.code, again.complaint]).toEqual([1, expect.stringMatching(/is CANCELLED/)]);
      const children = await run('get', 'bx', '-l', 'agentplane.dev/source-export=beat', '-o', 'name');
      expect(children.trim().split('\n')).toHaveLength(1);
      for (const words of ['run-now walk', 'move walk elsewhere'])
        expect((await attempt('export', ...words.split(' '))).code).toBe(1);
    });

    it.each([
      ['no project', [], /needs --project/],
      ['a schedule without a start', ['--project', 'x', '--every', '1h'], /needs --from/],
      ['an interval of a month', ['--project', 'x', '--every', '30d'], /must be 1h to 168h/],
      ['half a window', ['--project', 'x', '--from', '2026-05-01'], /both of --from and --to/],
      [
        'a time that is none',
        ['--project', 'x', '--from', 'yesterday'],
        /must look like 2026-05-01T00:00:00Z/,
      ],
      ['an unknown format', ['--project', 'x', '--format', 'v9'], /Allowed choices are v1, v2_beta/],
    ])('refuses %s', async (_what, words, message) => {
      const ending = await attempt('export', 'create', ...words);
      expect([ending.code, ending.complaint]).toEqual([2, expect.stringMatching(message)]);
    });
  });
});

/** Without ages and times, which move between two questions. */
function comparable(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\b\d+(?:m\d+)?s\b/g, 'AGE')
        .replaceAll(/ +/g, ' ')
        .trimEnd(),
    )
    .filter((line) => !/^ *(resourceVersion|managedFields|kubectl)/.test(line));
}

const MANIFEST = `apiVersion: agentplane.dev/v1alpha1
kind: AgentDeployment
metadata: { name: from-file }
spec:
  source: internal_image
  sourceRevisionConfig: { imageUri: sample-agent }
`;
