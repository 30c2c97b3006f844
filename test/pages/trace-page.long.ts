import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { waitFor } from '#lib/testing';
import { testApi } from '../../apps/api/src/testdata/test-api.js';
import { Chromium, hasChromium } from './chromium.js';

if (!hasChromium && process.env.CI === 'true')
  throw new Error('chromium is missing: install it for these tests');
if (!hasChromium) process.stderr.write('chromium is missing: the pages were not tested in a browser\n');

const BEGAN = Date.parse('2026-01-05T09:00:00Z');
/** A conversation with a model, a tool that failed, a retriever and a run that lasts. */
const ROWS: readonly (readonly [
  name: string,
  type: string,
  from: number,
  to: number | undefined,
  more: object,
])[] = [
  ['weather agent', 'chain', 0, 8.4, { outputs: { answer: 'It rains in Bergen.' }, tags: ['prod'] }],
  ['plan', 'llm', 0.1, 2.2, { outputs: usage(412, 88, '0.0031') }],
  [
    'forecast',
    'tool',
    2.3,
    3.1,
    { error: 'TimeoutError: the forecast service did not answer within 800 ms' },
  ],
  ['forecast, again', 'tool', 3.2, 4, { outputs: { mm: 7.5, at: ['Bergen'] } }],
  [
    'documents',
    'retriever',
    4.1,
    4.9,
    { outputs: { documents: Array.from({ length: 40 }, (_, n) => ({ n })) } },
  ],
  ['answer', 'llm', 5, 8.2, { outputs: usage(1_530, 240, '0.0114') }],
  ['store result', 'chain', 8.25, undefined, {}],
];

function usage(input_tokens: number, output_tokens: number, total_cost: string) {
  const total_tokens = input_tokens + output_tokens;
  return {
    text: 'ok',
    usage_metadata: { input_tokens, output_tokens, total_tokens, total_cost: Number(total_cost) },
  };
}

const iso = (seconds: number): string => new Date(BEGAN + seconds * 1_000).toISOString();
/** Of the summary that has the focus. */
const FOCUSED = `document.activeElement.querySelector('.name')?.firstChild.data`;
const OPEN = `document.activeElement.parentElement.open`;

(hasChromium ? describe : describe.skip)('the page of a trace in a browser', () => {
  const { api, tenant } = testApi();
  let browser: Chromium;
  let client: Client;
  const ids = ROWS.map(() => randomUUID());

  beforeAll(async () => {
    const [root = ''] = ids;
    const post = ROWS.map(([name, run_type, from, to, more], n) => ({
      id: ids[n],
      trace_id: root,
      session_name: 'weather',
      name,
      run_type,
      start_time: iso(from),
      ...(to === undefined ? {} : { end_time: iso(to) }),
      ...(n === 0 ? {} : { parent_run_id: n === 3 ? ids[2] : root }),
      inputs: { question: 'Will it rain in Bergen?', step: n, options: { units: 'mm', days: [1, 2] } },
      ...more,
    }));
    await tenant.call('POST', '/runs/batch', { post, patch: [] });
    client = new Client({ apiUrl: api.url, apiKey: tenant.key, webUrl: api.url });
    browser = await Chromium.start();
  });
  afterAll(() => browser?.stop());

  it('asks for a key and opens the printed address with it', async () => {
    await browser.show({ width: 1_280, scheme: 'light' });
    await browser.open(await client.getRunUrl({ runId: ids[2] ?? '' }));
    expect(await browser.read('document.title')).toBe('Sign in');
    await browser.picture('sign-in');
    await browser.send('Input.insertText', { text: 'apk_wrong' });
    await browser.loading(() => browser.press('Enter'));
    expect(await browser.read(`document.querySelector('[role=alert]').textContent`)).toBe(
      'The API key is not valid',
    );
    await browser.send('Input.insertText', { text: tenant.key });
    await browser.loading(() => browser.press('Enter'));
    expect(await browser.read('document.title')).toBe('weather agent');
    expect(await browser.read('document.cookie')).toBe('');
    await browser.picture('trace-light');
  });

  it('shows the tree with the run that was asked for, and its error', async () => {
    expect(await browser.read(FOCUSED)).toBe('forecast');
    const names = `[...document.querySelectorAll('.run > summary .name')].map((one) => one.firstChild.data)`;
    expect(await browser.read(names)).toEqual(ROWS.map(([name]) => name));
    const failed = `getComputedStyle(document.querySelector('.failed')).color`;
    expect(await browser.read(failed)).toBe('rgb(179, 22, 27)');
    expect(await browser.read(`document.querySelector('pre.error').textContent`)).toContain('TimeoutError');
    expect(await browser.read(`document.querySelector('.facts').textContent`)).toMatch(
      /2,270 tok · \$0\.0145/,
    );
  });

  it('moves and folds by arrows', async () => {
    await browser.press('Home');
    expect(await browser.read(FOCUSED)).toBe('weather agent');
    await browser.press('ArrowRight', 'ArrowDown');
    expect(await browser.read(FOCUSED)).toBe('forecast');
    await browser.press('ArrowLeft');
    expect(await browser.read(OPEN)).toBe(false);
    await browser.press('ArrowDown');
    expect(await browser.read(FOCUSED)).toBe('documents');
    await browser.press('ArrowUp', 'ArrowRight', 'ArrowRight');
    expect(await browser.read(FOCUSED)).toBe('forecast, again');
    await browser.press('ArrowLeft', 'ArrowLeft');
    expect(await browser.read(FOCUSED)).toBe('forecast');
    await browser.press('End');
    expect(await browser.read(FOCUSED)).toBe('store result');
    await browser.press('Enter');
    expect(await browser.read(OPEN)).toBe(false);
  });

  it('draws bars where runs were in time', async () => {
    const bars = `[...document.querySelectorAll('.bar .time')].map((one) => [+one.getAttribute('x'), +one.getAttribute('width')])`;
    const [root, plan] = (await browser.read(bars)) as [number, number][];
    expect([root, plan]).toEqual([
      [0, 1_000],
      [12, 250],
    ]);
  });

  it.each([
    [1_280, 'dark'],
    [380, 'light'],
    [380, 'dark'],
  ] as const)('fits a screen %i wide in the %s scheme', async (width, scheme) => {
    await browser.show({ width, scheme });
    await browser.open(await client.getRunUrl({ runId: ids[0] ?? '' }));
    await browser.picture(`trace-${scheme}-${width}`);
    expect(await browser.read('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    const ground = await browser.read('getComputedStyle(document.body).backgroundColor');
    expect(ground).toBe(scheme === 'dark' ? 'rgb(20, 23, 27)' : 'rgb(255, 255, 255)');
  });

  it('tries a call on the page of the REST interface by keyboard, and asks no other host', async () => {
    const call = `document.querySelector('.opblock-get:has([data-path="/sessions"])')`;
    const shows = (expression: string) => waitFor(() => browser.read(`Boolean(${expression})`));
    const shown = `${call}.querySelector('.live-responses-table')?.textContent ?? ''`;
    await browser.show({ width: 1_280, scheme: 'light' });
    await browser.open(`${api.url}/docs`);
    const heading = `document.querySelector('#operations-tag-Sessions .expand-operation')`;
    await shows(heading);
    await browser.picture('rest-interface');
    await browser.read(`${heading}.focus()`);
    await browser.press('Enter');
    await shows(call);
    for (const [key, status] of [
      ['', '401'],
      [tenant.key, '200'],
    ] as const) {
      await browser.read(`document.querySelector('#key').focus()`);
      await browser.send('Input.insertText', { text: key });
      if (key === '') {
        await browser.read(`${call}.querySelector('.opblock-summary-control').focus()`);
        await browser.press('Enter');
        // drawn last, once its schemas are resolved: a call before that is never sent
        await shows(`${call}.querySelector('.responses-inner .example code')`);
        await browser.picture('rest-operation');
      }
      const answered = `${call}.querySelector('.live-responses-table tbody .response-col_status')`;
      await browser.read(`${call}.querySelector('.execute').focus()`);
      await browser.press('Enter');
      await shows(`${answered}?.textContent.trim().startsWith('${status}')`);
    }
    await browser.picture('rest-answer');
    expect(await browser.read(shown)).toContain('"name": "weather"');
    expect(await browser.read('document.body.innerHTML')).not.toContain(tenant.key);
    expect(await browser.read('localStorage.length + sessionStorage.length + document.cookie.length')).toBe(
      0,
    );
    const asked = `performance.getEntriesByType('resource').map(({ name }) => name)`;
    const addresses = (await browser.read(asked)) as string[];
    expect(addresses).toEqual(expect.arrayContaining([`${api.url}/openapi.json`]));
    expect(addresses.filter((one) => ![api.url, 'data:'].some((own) => one.startsWith(own)))).toEqual([]);
  });

  it('lists the traces of a project, which lead to their pages', async () => {
    await browser.show({ width: 1_280, scheme: 'light' });
    await browser.open(await client.getProjectUrl({ projectName: 'weather' }));
    await browser.picture('project');
    await browser.loading(() => browser.read(`document.querySelector('td a').click()`));
    expect(await browser.read('document.title')).toBe('weather agent');
  });

  it('opens a shared trace without a key, and nothing else once signed out', async () => {
    await browser.loading(() => browser.read(`document.querySelector('form.out button').click()`));
    expect(await browser.read('document.title')).toBe('Sign in');
    await browser.open(await client.shareRun(ids[0] ?? ''));
    expect(await browser.read('document.title')).toBe('weather agent');
    await browser.open(await client.getRunUrl({ runId: ids[0] ?? '' }));
    expect(await browser.read('document.title')).toBe('Sign in');
  });

  it('breaks no policy and no script on any of these pages', () => {
    // refused keys are answers of 401
    expect(browser.complaints.filter((text) => !text.includes('401'))).toEqual([]);
  });
});
