import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseApiKey, renderAgentToken } from '#lib/auth';
import { temporaryFolder, waitFor } from '#lib/testing';
import { agentplane, type Ending } from '../cli/agentplane.js';
import { repository } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { sharedPlatform } from '../support/shared-platform.js';
import { violationsOf } from './accessibility.js';
import { Chromium, hasChromium } from './chromium.js';

if (!hasChromium && process.env.CI === 'true')
  throw new Error('chromium is missing: install it for these tests');
if (!hasChromium) process.stderr.write('chromium is missing: the console was not tested in a browser\n');

type Json = Readonly<Record<string, unknown>>;

const TITLE = 'document.title';
const MESSAGES = `[...document.querySelectorAll('.message')].map((one) => one.innerText.replace(/\\s+/g, ' '))`;

/** A person who opens the address of the platform in a browser, and talks to an agent. */
(hasChromium ? describe : describe.skip)('the console in a browser', () => {
  const platform = sharedPlatform();
  const folder = temporaryFolder();
  let browser: Chromium;

  const attempt = (...words: string[]): Promise<Ending> =>
    agentplane([...words, '--data', platform.dataFolder], { timeoutMs: 200_000, input: '' });
  const title = (): Promise<unknown> => browser.read(TITLE);
  const text = (): Promise<unknown> => browser.read('document.body.innerText');

  /** Says something in the talk that is open; the page loads itself again once the answer has come. */
  async function say(words: string): Promise<void> {
    await browser.read(`document.querySelector('textarea[name=text]').focus()`);
    await browser.send('Input.insertText', { text: words });
    await browser.loading(() => browser.press('Enter'));
  }

  /** Compares the page with the rules of axe, and its width with two screens, in both schemes. */
  async function look(name: string): Promise<void> {
    for (const scheme of ['light', 'dark'] as const)
      for (const width of [1_280, 390]) {
        await browser.show({ width, scheme });
        await browser.picture(`${name}-${scheme}-${width}`);
        expect([name, scheme, width, await violationsOf(browser)]).toEqual([name, scheme, width, []]);
        const wide = 'document.documentElement.scrollWidth <= innerWidth';
        expect([name, width, await browser.read(wide)]).toEqual([name, width, true]);
        const tables = `[...document.querySelectorAll('.rows')].every((one) => one.scrollWidth <= one.clientWidth)`;
        expect([name, width, await browser.read(tables)]).toEqual([name, width, true]);
      }
    await browser.show({ width: 1_280, scheme: 'light' });
  }

  beforeAll(async () => {
    cpSync(join(repository, 'examples', 'new-agent'), join(folder, 'talker'), { recursive: true });
    const graphs = { agent: './src/agent.ts:graph', again: './src/agent.ts:graph' };
    writeFileSync(join(folder, 'talker', 'langgraph.json'), JSON.stringify({ graphs }));
    await attempt('image', 'add', 'talker', join(folder, 'talker'));
    const { code, complaint } = await attempt('deploy', 'talker');
    if (code !== 0) throw new Error(complaint);
    browser = await Chromium.start();
  });
  afterAll(() => browser?.stop());

  it('leads from the root to the deployments by a key, which no script can read', async () => {
    const { restUrl, apiKey } = platform.credentials;
    await browser.show({ width: 1_280, scheme: 'light' });
    await browser.open(restUrl);
    expect(await title()).toBe('Sign in');
    await look('sign-in');
    await browser.read(`document.querySelector('[name=key]').focus()`);
    await browser.send('Input.insertText', { text: apiKey });
    await browser.loading(() => browser.press('Enter'));
    expect(await title()).toBe('Deployments');
    expect(await browser.read('document.cookie + location.href')).not.toContain(apiKey);
    await look('deployments');
  });

  it('talks to an agent, whose answer comes piece by piece', async () => {
    await browser.choose('td a');
    expect(await title()).toBe('talker');
    expect(await browser.read(`document.querySelector('.rows tbody').innerText`)).toMatch(
      /^talker-00001 serves/,
    );
    await look('deployment');
    const options = `[...document.querySelectorAll('[name=assistant] option')].map((one) => one.textContent)`;
    expect(await browser.read(options)).toEqual(['agent', 'again']);
    await browser.read(`document.querySelector('[name=assistant]').selectedIndex = 1`);
    await browser.choose('form.actions button');
    expect(await browser.read(`document.querySelector('.facts').textContent`)).toContain('graph again');
    await say('weather in Rome');
    expect(await browser.read(MESSAGES)).toEqual([
      'User weather in Rome',
      'Agent calls get_weather {"city":"Rome"}',
      'Tool get_weather sunny in Rome',
      'Agent Done: sunny in Rome.',
    ]);
    await look('thread');
  });

  it('answers what the agent asks by a form', async () => {
    await say('send "hi" to ann');
    expect(await text()).toContain('Send "hi" to ann?');
    await look('question');
    await browser.read(`document.querySelector('[name=answer]').value = 'yes'`);
    await browser.choose('form.talk button');
    expect(((await browser.read(MESSAGES)) as string[]).at(-1)).toBe('Agent Done: sent to ann.');
  });

  it('talks at the address of the agent itself, with a key that stays in the tab', async () => {
    const { restUrl, apiKey } = platform.credentials;
    const answer = await fetch(`${restUrl}/v2/deployments`, { headers: { 'x-api-key': apiKey } });
    const { resources } = (await answer.json()) as { resources: { name: string; source_config: Json }[] };
    const url = resources.find(({ name }) => name === 'talker')?.source_config['custom_url'];
    const here = await browser.read('location.href');
    await browser.open(`${String(url)}/chat`);
    await look('chat-key');
    const shows = (wanted: string): Promise<unknown> =>
      waitFor(async () => String(await text()).includes(wanted));
    await browser.read(`document.querySelector('[name=key]').focus()`);
    await browser.send('Input.insertText', { text: 'wrong' });
    await browser.press('Enter');
    await shows('The key was not accepted.');
    await browser.read(`document.querySelector('[name=key]').value = ${JSON.stringify(apiKey)}`);
    await browser.press('Enter');
    await shows('New thread');
    await look('chat-threads');
    await browser.read(`document.querySelector('form.actions button').click()`);
    await shows('Enter sends');
    await browser.read(`document.querySelector('textarea[name=text]').focus()`);
    await browser.send('Input.insertText', { text: 'weather in Oslo' });
    await browser.press('Enter');
    await waitFor(
      async () => ((await browser.read(MESSAGES)) as string[]).at(-1) === 'Agent Done: sunny in Oslo.',
    );
    await look('chat-thread');
    expect(await browser.read('document.cookie + location.href')).not.toContain(apiKey);
    await browser.open(String(here));
  });

  it('leads from the thread to its traces, and from a trace back to the thread', async () => {
    await waitFor(async () => {
      const found = await browser.read(`Boolean(document.querySelector('.actions a'))`);
      if (!found) await browser.loading(() => browser.send('Page.reload'));
      return Boolean(found);
    });
    await browser.choose('.actions a');
    await waitFor(async () => {
      const found = await browser.read(`document.querySelectorAll('td a').length > 0`);
      if (!found) await browser.loading(() => browser.send('Page.reload'));
      return Boolean(found);
    });
    expect(await text()).toContain('weather in Rome');
    await look('traces');
    await browser.choose('tr:last-child td a');
    expect(await browser.read(`document.querySelectorAll('.payload .message').length > 0`)).toBe(true);
    await look('trace');
    await browser.choose('.actions a');
    expect(await title()).toBe('talker: thread');
  });

  it('reports a wrong filter beside its box', async () => {
    await browser.choose('nav a[href$="/projects"]');
    await look('projects');
    await browser.choose('td a');
    await browser.read(`document.querySelector('[name=filter]').value = 'eq(latencyy, 1)'`);
    await browser.choose('form.filter button');
    expect(await browser.read(`document.querySelector('[role=alert]').textContent`)).toContain('latency');
    await look('filter');
  });

  it('shows how exports stand', async () => {
    const rest = new Rest(platform.credentials);
    const [destination] = (await rest.get('/api/v1/bulk-exports/destinations')).body as { id: string }[];
    const [project] = (await rest.get('/sessions?name=talker')).body as { id: string }[];
    await rest.post('/api/v1/bulk-exports', {
      bulk_export_destination_id: destination?.id,
      session_id: project?.id,
      start_time: '2026-01-01T00:00:00Z',
      end_time: '2026-01-02T00:00:00Z',
    });
    await browser.choose('nav a[href$="/exports"]');
    await look('exports');
    await browser.choose('td a');
    expect(await title()).toContain('Export ');
    await look('export');
  });

  it('shows the experiments of a dataset, and a trace that is shared', async () => {
    const rest = new Rest(platform.credentials);
    const { id } = (await rest.post('/datasets', { name: 'questions' })).body as { id: string };
    await rest.post('/sessions', { name: 'first try', reference_dataset_id: id });
    const { restUrl, tenantId } = platform.credentials;
    await browser.open(`${restUrl}/o/${tenantId}/datasets/${id}/compare`);
    expect(await text()).toContain('first try');
    await look('dataset');
    const [project] = (await rest.get('/sessions?name=talker')).body as { id: string }[];
    await browser.open(`${restUrl}/o/${tenantId}/projects/p/${project?.id}`);
    await browser.choose('td a');
    await browser.choose('form[action$="/share"] button');
    await look('shared-trace');
    await browser.choose('a[href*="/public/"]');
    await look('shared');
    await browser.open(`${restUrl}/o/${tenantId}/exports`);
  });

  it('calls agents with a token that opens one of them, and no other', async () => {
    const key = parseApiKey(platform.credentials.apiKey);
    const rest = new Rest(platform.credentials);
    const { resources } = (
      await rest.get<{ readonly resources: readonly { readonly url: string }[] }>('/v2/deployments')
    ).body;
    const statuses = ['talker', 'another'].map(async (agent) => {
      const token = key ? renderAgentToken(key, { agent, untilMs: Date.now() + 60_000 }) : '';
      const headers = { 'x-api-key': token, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: '{}' };
      return (await fetch(`${resources[0]?.url}/threads/search`, init)).status;
    });
    expect(await Promise.all(statuses)).toEqual([200, 403]);
  });

  it('works without the script of its pages', async () => {
    await browser.send('Emulation.setScriptExecutionDisabled', { value: true });
    await browser.open(`${platform.credentials.restUrl}/o`);
    await browser.choose('td a');
    await browser.choose('form.actions button');
    await browser.read(`document.querySelector('[name=text]').value = 'hello'`);
    await browser.choose('form.talk button');
    expect(await browser.read(MESSAGES)).toEqual(['User hello', 'Agent You said: hello']);
    await browser.send('Emulation.setScriptExecutionDisabled', { value: false });
  });

  it('ends at once with its key', async () => {
    const rest = new Rest(platform.credentials);
    const made = (await rest.post('/api/v1/api-key', { description: 'brief', scope: 'workspace' })).body as {
      readonly id: string;
      readonly key: string;
    };
    await browser.choose('form.out button');
    await browser.read(`document.querySelector('[name=key]').value = ${JSON.stringify(made.key)}`);
    await browser.choose('form.key button');
    expect(await title()).toBe('Deployments');
    await rest.call('DELETE', `/api/v1/api-key/${made.id}`);
    await browser.choose('td a');
    expect(await title()).toBe('Sign in');
  });

  it('breaks no policy and no script on any of these pages', () => {
    // a browser reports the wrong key of the chat as well
    expect(browser.complaints.filter((one) => !one.includes('status of 401'))).toEqual([]);
  });
});
