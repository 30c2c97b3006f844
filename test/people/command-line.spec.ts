import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '#lib/testing';
import { agentplane, type Ending } from '../cli/agentplane.js';
import { repository } from '../support/platform.js';
import { sharedPlatform, takeOverAfter } from '../support/shared-platform.js';

/** Where people who know nothing but `--help` stopped, each mended. */
describe('agentplane for a person who knows --help alone', () => {
  const platform = sharedPlatform();
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-people-'));

  beforeAll(() => run('deploy', 'sample-agent'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function attempt(...words: string[]): Promise<Ending> {
    return agentplane([...words, '--data', platform.dataFolder]);
  }

  /** One that must end well. */
  async function run(...words: string[]): Promise<Ending> {
    const ending = await attempt(...words);
    if (ending.code !== 0)
      throw new Error(`${words.join(' ')} ended with ${ending.code}: ${ending.complaint}`);
    return ending;
  }

  describe('kinds', () => {
    it.each([
      ['agents', /^NAME +REVISION +ACTIVE.*\nsample-agent +/],
      ['revisions', /^NAME +DEPLOYMENT +NUMBER.*\nsample-agent-00001 +/],
      ['destinations', /^NAME +BUCKET.*\nlocal +/],
      ['destination', /^NAME +BUCKET.*\nlocal +/],
    ])('lists %s by the word of the dashboard', async (word, expected) => {
      expect((await run('get', word)).output).toMatch(expected);
    });

    it('names short words where a kind is not served', async () => {
      const { code, complaint } = await attempt('get', 'nonsense');
      expect([code, complaint]).toEqual([2, expect.stringContaining('agentdeployments (adep)')]);
    });

    it('notes that Deployments of Kubernetes are no agents', async () => {
      expect((await run('get', 'deployments.apps')).complaint).toContain(
        '"agentplane get adep" lists agents',
      );
      expect((await run('get', 'deployments')).complaint).toBe('');
    });
  });

  describe('deploy', () => {
    it('names its arguments when it gets none', async () => {
      const { code, complaint } = await attempt('deploy');
      expect([code, complaint]).toEqual([2, expect.stringContaining('deploy needs the NAME of an agent')]);
    });
  });

  describe('image add --deploy', () => {
    const agent = join(folder, 'mine');
    const graph = join(agent, 'src', 'agent.ts');

    it('waits until the new revision serves', async () => {
      cpSync(join(repository, 'examples', 'new-agent'), agent, { recursive: true });
      await run('image', 'add', 'mine', agent);
      await run('deploy', 'mine');
      await takeOverAfter(platform.credentials, 'mine');
      writeFileSync(graph, `${readFileSync(graph, 'utf8')}\n// changed\n`);
      const { output } = await run('image', 'add', 'mine', agent, '--deploy');
      expect(output).toMatch(/^agentdeployment\/mine gets a new revision$/m);
      expect(output).toMatch(/^mine-00002 serves at http:/m);
    });

    it('fails with the reason of a revision that does not load', async () => {
      writeFileSync(graph, `throw new Error('boom');\n${readFileSync(graph, 'utf8')}`);
      const { code, complaint } = await attempt('image', 'add', 'mine', agent, '--deploy');
      expect([code, complaint]).toEqual([
        1,
        expect.stringMatching(/deploying mine failed \(GraphLoadFailed\):.*boom/),
      ]);
    });

    it('does not wait for a suspended deployment, nor with --no-wait', async () => {
      const { output } = await run('image', 'add', 'mine', agent, '--deploy', '--no-wait');
      expect(output).toMatch(/mine gets a new revision\n$/);
      await run('suspend', 'mine');
      const { complaint } = await run('image', 'add', 'mine', agent, '--deploy');
      expect(complaint).toContain('"agentplane resume mine" starts its new revision');
    });
  });

  describe('export', () => {
    it('notes a project that does not exist, and names the commands that show the progress', async () => {
      const { complaint } = await run('export', 'create', 'typo', '--project', 'sampel-agent');
      expect(complaint).toContain('Note: tracing project sampel-agent does not exist');
      expect(complaint).toContain('"agentplane traces projects" lists those that do');
      expect((await run('traces', 'projects')).output).toMatch(/^NAME +RUNS.*(\n.*)*^sample-agent +0/m);
      expect((await run('traces', 'projects', '-o', 'name')).output).toMatch(/^sample-agent$/m);
    });

    it('prints no note about a project that exists', async () => {
      const { complaint } = await run('export', 'create', 'day', '--project', 'sample-agent');
      expect(complaint).not.toContain('Note');
      expect(complaint).toContain('"agentplane export files day"');
      // the controller finds the project a moment after the export was made
      await waitFor(async () => /^day +sample-agent/m.test((await run('export', 'list')).output), {
        what: 'the project of the export',
      });
    });

    it('names what to do about a name that is in use', async () => {
      const { code, complaint } = await attempt('export', 'create', 'day', '--project', 'sample-agent');
      expect([code, complaint]).toEqual([1, expect.stringContaining('choose another name')]);
    });

    it('watches an export to its end, and exits as it ended', async () => {
      await run('export', 'create', 'watched', '--project', 'sample-agent', '--last', '1h');
      const { code, output } = await attempt('export', 'watch', 'watched');
      expect([code, output]).toEqual([0, expect.stringMatching(/^watched completed: 0 rows, \d+ bytes\n$/)]);
      const ahead = ['--from', '2126-05-01', '--to', '2126-05-02'];
      await run('export', 'create', 'ahead', '--project', 'sample-agent', ...ahead);
      const late = await attempt('export', 'watch', 'ahead', '--timeout', '1s');
      expect([late.code, late.complaint]).toEqual([
        5,
        expect.stringContaining('export ahead is not complete after 1 s'),
      ]);
      const watching = attempt('export', 'watch', 'ahead');
      await run('export', 'cancel', 'ahead');
      const ended = await watching;
      expect([ended.code, ended.complaint]).toEqual([1, expect.stringContaining('ahead ended as CANCELLED')]);
      expect((await attempt('export', 'watch', 'absent')).code).toBe(3);
    });

    it('watches no schedule, and names the exports that it makes', async () => {
      const every = ['--from', '2126-05-01', '--every', '1h'];
      await run('export', 'create', 'endless', '--project', 'sample-agent', ...every);
      const { code, complaint } = await attempt('export', 'watch', 'endless');
      expect([code, complaint]).toEqual([1, expect.stringContaining('endless is a schedule')]);
      await run('export', 'cancel', 'endless');
    });

    it('leads from a schedule to its exports', async () => {
      const from = new Date(Date.now() - 2 * 3_600_000).toISOString().slice(0, 13);
      const words = ['hourly', '--project', 'sample-agent', '--from', `${from}:00:00Z`, '--every', '1h'];
      const { complaint } = await run('export', 'create', ...words);
      const command = 'agentplane export list -l agentplane.dev/source-export=hourly';
      expect(complaint).toContain(command);
      expect(complaint).toMatch(/^2 windows since .* an export of each is made now; --catch-up none/m);
      for (const verb of ['files', 'verify']) {
        const ending = await attempt('export', verb, 'hourly');
        expect([ending.code, ending.complaint]).toEqual([1, expect.stringContaining(command)]);
      }
    });

    it.each([
      ['a filter that does not parse', ['--filter', 'eq(status "error")'], /position 10: /],
      [
        'more windows of the past than a day has, unless they are asked for',
        ['--from', '2026-05-01', '--every', '1h'],
        /windows since 2026-05-01\S* have ended: --catch-up all makes .* nothing was created/,
      ],
    ])('refuses %s', async (_what, words, message) => {
      const { code, complaint } = await attempt('export', 'create', 'bad', '--project', 'x', ...words);
      expect([code, complaint]).toEqual([2, expect.stringMatching(message)]);
    });

    it('names an export as it was named', async () => {
      const { code, complaint } = await attempt('export', 'verify', 'typo');
      expect([code, complaint]).toEqual([1, expect.stringContaining('verifying export typo failed: it is')]);
      await run('export', 'cancel', 'typo');
      expect((await attempt('export', 'verify', 'typo')).complaint).toContain(
        'it is CANCELLED, and only the files of one that is COMPLETED are compared',
      );
    });
  });

  describe('workspace', () => {
    it('names the namespace to deploy to', async () => {
      const { complaint } = await run('workspace', 'create', 'team-b');
      expect(complaint).toContain('"agentplane deploy NAME -n ws-team-b" an agent');
    });
  });
});
