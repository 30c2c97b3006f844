import type { PageElement } from 'jsdom';
import { createElement, type ReactNode } from 'react';
import { useStream } from '@langchain/langgraph-sdk/react';
import { useStream as useOtherStream } from 'langgraph-sdk-2/react';
import type { UIMessage } from '@langchain/langgraph-sdk/react-ui';
import { waitFor } from '#lib/testing';
import { open, send } from '../clients/raw-http.js';
import { renderPage } from '../clients/render-hook.js';
import { sdkClient } from '../clients/sdk-client.js';
import { rowsOf, type Target } from '../target.js';

type Component = typeof import('@langchain/langgraph-sdk/react-ui').LoadExternalComponent;

/**
 * A component of a page and the hook of its package that gives it the stream. Loaded when they are used: each finds the
 * page, which render-hook makes, and takes it for its own, so the later one has it.
 */
const PACKAGES = {
  '1.15': async () => ({
    component: (await import('@langchain/langgraph-sdk/react-ui')).LoadExternalComponent,
    hook: useStream,
  }),
  '2.0': async () => ({
    component: (await import('langgraph-sdk-2/react-ui')).LoadExternalComponent as never as Component,
    hook: useOtherStream as never as typeof useStream,
  }),
} as const;

interface Package {
  readonly component: Component;
  readonly hook: typeof useStream;
}

const says = (content: string) => ({ messages: [{ type: 'human' as const, content }] });

interface Shown {
  readonly [key: string]: unknown;
  readonly messages: { readonly type: 'human' | 'ai'; readonly content: string; readonly id?: string }[];
  readonly ui?: UIMessage[];
}

/** A page that shows the components of a conversation, each under the message that it belongs to. */
function pageOf(
  { url, headers }: Target,
  assistantId: string,
  { component, hook }: Package,
): () => ReactNode {
  const options = { apiUrl: url, assistantId, defaultHeaders: { ...headers } };
  return function Page() {
    const stream = hook<Shown>(options);
    const shown = (stream.values.ui ?? []).map((message) =>
      createElement(component, {
        key: message.id,
        message,
        meta: 'meta',
        fallback: 'loading',
        stream: stream as never,
      }),
    );
    const begin = () => void stream.submit(says('hello'));
    const state = createElement('i', null, stream.isLoading ? 'answers' : 'rests');
    return createElement('div', null, createElement('button', { onClick: begin }, 'begin'), state, ...shown);
  };
}

const ROOT = '[id^="child-shadow"]';

async function showsCards(target: Target, assistantId: string, using: Package): Promise<void> {
  const page = renderPage(pageOf(target, assistantId, using));
  try {
    page.element.querySelector('button')?.click();
    const rootOf = (at: number): PageElement | null | undefined =>
      page.element.querySelectorAll(ROOT)[at]?.shadowRoot;
    const textOf = (at: number): string | null | undefined => rootOf(at)?.querySelector('b')?.textContent;
    const shows = (at: number, text: string): Promise<unknown> =>
      waitFor(() => textOf(at) === text, { what: `${text}, not ${textOf(at)}` });
    await shows(0, 'hello 1 of 2 meta closed');
    expect(rootOf(0)?.querySelector('link')?.getAttribute('href')).toMatch(/\/entrypoint\.css$/);
    rootOf(0)?.querySelector('b')?.click();
    await shows(0, 'hello 1 of 2 meta open');
    // SDK 2.0 may lose a message that is sent while its stream ends
    await waitFor(() => page.element.querySelector('i')?.textContent === 'rests');
    rootOf(0)?.querySelector('button')?.click();
    await shows(1, 'again 3 of 4 meta closed');
    await shows(0, 'hello 1 of 4 meta open');
    expect(page.element.querySelectorAll(ROOT)).toHaveLength(2);
  } finally {
    page.unmount();
  }
}

const PAGES = Object.entries(PACKAGES).flatMap(([version, load]) =>
  rowsOf(`LoadExternalComponent of the JavaScript SDK ${version}`, {
    'shows components of a graph, with hooks, the stream of the page and its changes': async (target) =>
      showsCards(target, 'showing', await load()),
    'shows components of an assistant that has an id': async (target) => {
      const { assistant_id: id } = await sdkClient(target).assistants.create({ graphId: 'showing' });
      await showsCards(target, id, await load());
    },
  }),
);

/** What a page asks for, and the addresses in the answer. */
async function snippetOf(target: Target, name = 'card') {
  const answer = await send(target, 'POST', '/ui/showing', { body: { name } });
  const [style = '', script = ''] = [...answer.text.matchAll(/(?:href|src)="([^"]+)"/g)].map(
    ([, url]) => url,
  );
  return { answer, style, script };
}

const HTTP = rowsOf('raw HTTP', {
  'sends what a run shows as custom events and keeps it in the state': async (target) => {
    const client = sdkClient(target);
    const { thread_id } = await client.threads.create();
    const seen: unknown[] = [];
    for await (const { event, data } of client.runs.stream(thread_id, 'showing', {
      input: says('x'),
      streamMode: 'custom' as const,
    }))
      if (event === 'custom') seen.push(data);
    const card = { type: 'ui', name: 'card', props: { word: 'x', count: 0 } };
    expect(seen).toMatchObject([
      card,
      { ...card, props: { word: 'x', count: 1 }, metadata: { merge: true } },
      { type: 'ui', props: { word: 'deleted' } },
      { type: 'remove-ui' },
    ]);
    const { ui } = (await client.threads.getState<Shown>(thread_id)).values;
    expect(ui).toMatchObject([
      { name: 'card', props: { word: 'x', count: 1 }, metadata: { run_id: expect.any(String) as unknown } },
    ]);
  },
  'answers HTML that names style and script, which anybody may load': async (target) => {
    const { answer, style, script } = await snippetOf(target);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.text).toContain(`onload='__LGUI_showing.render("card", "{{shadowRootId}}")'`);
    for (const [url, type] of [
      [style, 'text/css'],
      [script, 'text/javascript'],
    ] as const) {
      const asset = await fetch(new URL(url, target.url), { headers: { origin: 'https://page.test' } });
      const { headers } = asset;
      expect([asset.status, headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`]);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      const [path = ''] = new URL(url, target.url).pathname.split(/(?=\/ui\/)/).slice(-1);
      const plain = await open(target, 'GET', path);
      expect(plain.headers.get('cache-control')).toBe('no-cache');
      expect(await plain.text()).toBe(await asset.text());
      const known = { 'if-none-match': plain.headers.get('etag') ?? '' };
      expect((await open(target, 'GET', path, { headers: known })).status).toBe(304);
    }
  },
  'lets no name of a component out of the literal in which it stands': async (target) => {
    const name = `');alert(1)//"<script>&{{shadowRootId}}\u2028`;
    const { answer } = await snippetOf(target, name);
    const [, code = ''] = /onload='([^']*)'/.exec(answer.text) ?? [];
    expect(code).toMatch(/^__LGUI_showing\.render\("[\w\\]+", "\{\{shadowRootId\}\}"\)$/);
    const [, literal = ''] = /\((".*?"),/.exec(code) ?? [];
    expect(JSON.parse(literal)).toBe(name);
  },
  'refuses components that do not exist, and files of anything else': async (target) => {
    const card = { body: { name: 'card' } };
    expect((await send(target, 'POST', '/ui/echo', card)).status).toBe(404);
    expect((await send(target, 'POST', '/ui/absent', card)).status).toBe(404);
    expect((await send(target, 'POST', '/ui/01a2017a-7a97-7479-8f02-e1895e7b3c88', card)).status).toBe(404);
    expect((await send(target, 'POST', '/ui/showing', { body: {} })).status).toBe(422);
    for (const file of ['components.tsx', '..%2fgraphs.ts', '%2e%2e%2flanggraph.json', 'constructor', '%00'])
      expect([file, (await send(target, 'GET', `/ui/showing/${file}`)).status]).toEqual([file, 404]);
    expect((await send(target, 'GET', '/ui/__proto__/entrypoint.js')).status).toBe(404);
  },
});

export const UI_ROWS = [...PAGES, ...HTTP];
