import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import { sharedPlatform, takeOverAfter } from '../support/shared-platform.js';
import { agentplane, type Ending } from './agentplane.js';

/** What is done to a deployment that is there, against one platform in this order. */
describe('agentplane with a deployment', () => {
  const platform = sharedPlatform();

  beforeAll(async () => {
    await run('deploy', 'sample-agent');
    await takeOverAfter(platform.credentials, 'sample-agent');
    await run('deploy', 'sample-agent');
  });

  const attempt = (...words: string[]): Promise<Ending> =>
    agentplane([...words, '--data', platform.dataFolder], { timeoutMs: 200_000 });
  async function run(...words: string[]): Promise<string> {
    const ending = await attempt(...words);
    if (ending.code !== 0)
      throw new Error(`${words.join(' ')} ended with ${ending.code}: ${ending.complaint}`);
    return ending.output;
  }
  interface Listed {
    readonly id: string;
    readonly status: string;
    readonly serves: boolean;
  }
  const revisions = async (): Promise<Listed[]> =>
    JSON.parse(await run('revisions', 'sample-agent', '-o', 'json')) as Listed[];

  /** Makes a revision that takes over once it has been ready for so long. */
  async function deployFor(seconds: number): Promise<void> {
    await takeOverAfter(platform.credentials, 'sample-agent', seconds);
    await run('deploy', 'sample-agent', '--no-wait');
  }

  it('lists revisions, goes back to the one before, and makes new ones as others were', async () => {
    const before = await revisions();
    expect(before.map(({ status, serves }) => [status, serves])).toEqual([
      ['DEPLOYED', true],
      ['DEPLOYED', false],
    ]);
    const [second, first] = before.map(({ id }) => id);
    const table = await run('revisions', 'sample-agent', '--limit', '1');
    expect(table).toMatch(
      new RegExp(
        `^ +NAME +ID +STATUS +CREATED +SOURCE +REASON\\n\\* +sample-agent-00002 +${second} +DEPLOYED`,
      ),
    );
    expect(table.trimEnd().split('\n')).toHaveLength(2);

    const back = await attempt('rollback', 'sample-agent');
    expect(back.output).toMatch(
      new RegExp(`^sample-agent: revision \\S+ is made from ${first}\nsample-agent serves at http:`),
    );
    expect(back.complaint).toMatch(/^sample-agent: (?!.*[A-Z]{2}).* (revision|pods) /m);
    const [third] = await revisions();
    expect(third?.serves).toBe(true);

    const again = ['redeploy', 'sample-agent', '--no-wait', '--revision', '2'];
    expect(await run(...again)).toContain(`is made from ${second}`);
    // a revision that is ready takes over only after that time: it is on its way until then
    await deployFor(600);
    const early = await attempt('restart', 'sample-agent');
    expect([early.code, early.complaint]).toEqual([1, expect.stringContaining('is on its way')]);
    expect(await run('restart', 'sample-agent', '--force')).toMatch(
      /^sample-agent: new pods replace those of the revision that serves\nsample-agent serves at http:/,
    );
    await deployFor(0);
    const made = (await revisions()).length;
    const pods = async () => (await run('get', 'pods', '-o', 'name')).split('\n').toSorted();
    const former = await waitFor(async () => {
      const found = await revisions();
      return found.length === made && found[0]?.serves && (await pods());
    });
    await run('restart', 'sample-agent');
    expect(await pods()).not.toEqual(former);
    expect(await revisions()).toHaveLength(made);
  });

  it('adds, changes, removes and replaces secrets, and says so before they roll out', async () => {
    const secrets = (verb: string, ...words: string[]) =>
      attempt('secrets', verb, 'sample-agent', ...words, ...(verb === 'list' ? [] : ['--no-wait']));
    const file = join(platform.dataFolder, 'two.env');
    writeFileSync(file, 'A=1\nB=two words\n');
    expect((await secrets('set', '-f', file)).output).toBe(
      'sample-agent: added: A, B. Its secrets are now: A, B\n',
    );
    expect((await secrets('set', 'B=x=y', 'C=3')).output).toBe(
      'sample-agent: added: C; changed: B. Its secrets are now: A, B, C\n',
    );
    expect((await secrets('unset', 'A')).output).toBe(
      'sample-agent: removed: A. Its secrets are now: B, C\n',
    );
    expect((await secrets('unset', 'A')).code).toBe(3);
    const comments = join(platform.dataFolder, 'comments.env');
    writeFileSync(comments, '# OPENAI_API_KEY=\n');
    expect((await secrets('set', '-f', comments)).output).toBe(
      `Nothing was changed: ${comments} has no line NAME=value\n`,
    );
    const kept = await secrets('replace', '-f', file);
    expect([kept.code, kept.complaint]).toEqual([
      2,
      expect.stringContaining('--yes removes C from sample-agent'),
    ]);
    const values = await run(
      'get',
      'secrets',
      '-l',
      'app.kubernetes.io/component=user-secrets',
      '-o',
      'json',
    );
    const { items } = JSON.parse(values) as { items: { data: Record<string, string> }[] };
    expect(items.map(({ data }) => data)).toEqual([{ B: btoa('x=y'), C: btoa('3') }]);
    expect((await secrets('replace', '-f', file, '--yes')).output).toBe(
      'sample-agent: added: A; changed: B; removed: C. Its secrets are now: A, B\n',
    );
    expect((await secrets('list')).output).toBe('NAME\nA\nB\n');
  });

  it('gives a deployment the variables of a file in the same revision', async () => {
    const file = join(platform.dataFolder, 'keys.env');
    writeFileSync(file, 'MODEL_KEY=one\nLANGSMITH_TRACING=true\n');
    const words = ['deploy', 'with-keys', '--secrets', file];
    const made = await attempt(...words, '--image', 'sample-agent');
    expect([made.code, made.output]).toEqual([
      0,
      expect.stringMatching(
        /^agentdeployment\.agentplane\.dev\/with-keys created\nwith-keys: added: MODEL_KEY\. Its secrets are now: MODEL_KEY\nwith-keys serves at http:/,
      ),
    ]);
    expect(made.complaint).toContain('LANGSMITH_TRACING is left out');
    await takeOverAfter(platform.credentials, 'with-keys');
    writeFileSync(file, 'OTHER=two\n');
    expect(await run(...words)).toMatch(
      /^with-keys: added: OTHER\. Its secrets are now: MODEL_KEY, OTHER\nwith-keys serves at http:/,
    );
    expect(await run('revisions', 'with-keys', '-o', 'name')).toMatch(/^\S+\n\S+\n$/);
  });

  it('acts in the workspace of its key, and refuses a kubeconfig or a namespace of another one', async () => {
    const { credentials, dataFolder, namespace } = platform;
    const [variables, keyFile, kubeconfig] = ['keys.env', 'far.key', 'far.yaml'].map((name) =>
      join(dataFolder, name),
    ) as [string, string, string];
    writeFileSync(variables, 'MODEL_KEY=one\n');
    writeFileSync(keyFile, credentials.apiKey);
    writeFileSync(
      kubeconfig,
      readFileSync(credentials.kubeconfig, 'utf8').replaceAll(`namespace: ${namespace}`, 'namespace: other'),
    );
    const environment = { XDG_CONFIG_HOME: join(dataFolder, 'far') };
    const act = (...words: string[]): Promise<Ending> => agentplane(words, { environment });
    const reached = ['--address', credentials.restUrl, '--key-file', keyFile, '--kubeconfig', kubeconfig];
    expect(await act('contexts', 'add', 'far', ...reached)).toMatchObject({ code: 0 });
    const refusal = async (...words: string[]): Promise<string> => {
      const { code, complaint } = await act(...words, '--context', 'far');
      return `${code} ${complaint}`;
    };
    const deploy = ['deploy', 'far', '--image', 'missing', '--no-wait'];
    for (const words of [
      deploy,
      [...deploy, '--secrets', variables],
      ['export', 'files', 'none'],
      ['sql', '--project', 'none', '-c', 'SELECT 1'],
    ])
      expect(await refusal(...words)).toMatch(
        new RegExp(
          `^2 .*context far belongs to .*${namespace}.* names namespace other; .*--namespace ${namespace}`,
        ),
      );
    expect(await refusal(...deploy, '--secrets', variables, '-n', 'default')).toMatch(
      /^2 .* not to namespace default/,
    );
    expect(await run('get', 'adep', '-A', '-o', 'name')).not.toContain('/far');
    expect(await refusal(...deploy, '--secrets', variables, '-n', namespace)).toBe('0 ');
    expect(await refusal(...deploy, '-n', namespace)).toBe('0 ');
    expect(await run('get', 'adep', 'far', '-o', 'name')).toContain('/far');
  });

  it('suspends and resumes', async () => {
    expect(await run('suspend', 'sample-agent')).toMatch(/^sample-agent suspended/);
    const refused = await attempt('restart', 'sample-agent');
    expect([refused.code, refused.complaint]).toEqual([
      1,
      expect.stringContaining('is suspended: run "agentplane resume sample-agent" first'),
    ]);
    expect(await run('resume', 'sample-agent')).toMatch(
      /^sample-agent resumed\nsample-agent serves at http:/,
    );
  });

  it('makes, lists, changes and deletes a workspace', async () => {
    const tenant = '3f0b6a52-7b0e-4d4e-9f0a-2f6f8c1d9a11';
    const made = await attempt('workspace', 'create', 'team-c', '--plan', 'plus', '--tenant', tenant);
    expect([made.code, made.output]).toEqual([
      0,
      `workspace team-c is ready: tenant ${tenant}, namespace ws-team-c\n`,
    ]);
    expect(await run('workspace', 'set', 'team-c', '--plan', 'developer')).toBe('workspace team-c changed\n');
    expect(await run('workspace', 'list')).toMatch(
      new RegExp(`^team-c +${tenant} +developer +ws-team-c +ready *$`, 'm'),
    );
    expect(await run('get', 'listeners', '-n', 'ws-team-c', '-o', 'name')).toContain('/default');
    const kept = await attempt('workspace', 'delete', 'team-c');
    expect([kept.code, kept.complaint]).toEqual([
      2,
      expect.stringMatching(/team-c was not deleted: it has 0 deployments .*; --yes deletes it/),
    ]);
    expect(await run('workspace', 'delete', 'team-c', '--yes')).toBe('workspace team-c deleted\n');
    const gone = await attempt('workspace', 'set', 'team-c', '--plan', 'plus');
    expect([gone.code, gone.complaint]).toEqual([3, expect.stringContaining('"agentplane workspace list"')]);
    expect((await attempt('workspace', 'set', 'team-c')).code).toBe(2);
  });

  it('checks the machine and every part of the platform', async () => {
    const { code, output } = await attempt('doctor', '-o', 'json');
    const findings = JSON.parse(output) as { check: string; state: string; advice: string }[];
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        'node',
        'memory',
        'disk',
        'user namespaces',
        'git',
        'python',
        'podman',
        'supervisor',
        'rest',
        'postgres',
        'object-store',
        'program/controller',
        'kubernetes',
        'listener/default',
      ]),
    );
    expect(code).toBe(findings.some(({ state }) => state === 'failed') ? 1 : 0);
    for (const { state, advice } of findings) expect(advice === '').toBe(state === 'ok');
    // a deployment may still roll out
    expect((await attempt('status')).output).toMatch(/^postgres +ok +127\.0\.0\.1:\d+$/m);
  });

  it('checks the machine where no platform runs', async () => {
    const { output } = await agentplane(['doctor', '--data', '/nowhere/agentplane']);
    expect(output).toMatch(/^CHECK +STATE +FOUND +WHAT TO DO\nnode +ok +\d+\./);
    expect(output).toMatch(/^platform +warning +none runs over \/nowhere\/agentplane +start one with/m);
  });

  it.each([
    ['a deployment that does not exist', ['rollback', 'none'], 3, /deployment none does not exist/],
    [
      'a revision that does not exist',
      ['redeploy', 'sample-agent', '--revision', 'ffffffff'],
      3,
      /has no revision ffffffff: "agentplane revisions sample-agent"/,
    ],
    [
      'a limit that is none',
      ['revisions', 'sample-agent', '--limit', '0'],
      2,
      /must be a whole number from 1 to 99999/,
    ],
  ])('refuses %s', async (_what, words, code, message) => {
    const ending = await attempt(...words);
    expect([ending.code, ending.complaint]).toEqual([code, expect.stringMatching(message)]);
  });
});
