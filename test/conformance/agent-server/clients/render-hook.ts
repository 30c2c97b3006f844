import { JSDOM, type PageElement } from 'jsdom';
import { createElement, type ReactNode } from 'react';
import { waitFor } from '#lib/testing';

// components of agents are scripts that pages load
const { window } = new JSDOM('<!doctype html>', {
  url: 'http://localhost/',
  runScripts: 'dangerously',
  resources: 'usable',
});
const { prototype } = window.Range;
const { createContextualFragment } = prototype;
/** Browsers run the scripts of such a fragment where it is inserted; jsdom runs none in a shadow root. */
prototype.createContextualFragment = function (html) {
  const fragment = createContextualFragment.call(this, html);
  for (const script of Array.from(fragment.querySelectorAll('script')))
    queueMicrotask(() => window.document.body.appendChild(script.cloneNode()));
  return fragment;
};
// React looks for the globals of a page when it is loaded; where consoles have timeStamp it also reads all members of the
// values of hooks, some of which throw
Object.assign(globalThis, { window, document: window.document });
Object.assign(console, { timeStamp: undefined });
const { createRoot } = await import('react-dom/client');
const { flushSync } = await import('react-dom');

/** A hook inside a page. */
export interface RenderedHook<Result> {
  /** What it returned last. */
  readonly current: Result;
  /** All that it returned. */
  readonly seen: readonly Result[];
  until(fits: (result: Result) => boolean | Promise<boolean>, what: string): Promise<void>;
  unmount(): void;
}

export function renderHook<Result>(hook: () => Result): RenderedHook<Result> {
  const seen: Result[] = [];
  const root = createRoot(window.document.createElement('div'));
  const current = (): Result => {
    const last = seen.at(-1);
    if (last === undefined) throw new Error('the hook was not rendered yet');
    return last;
  };
  const Page = (): null => {
    seen.push(hook());
    return null;
  };
  flushSync(() => root.render(createElement(Page)));
  return {
    get current() {
      return current();
    },
    seen,
    until: async (fits, what) =>
      void (await waitFor(() => fits(current()), { what }).catch((error: unknown) => {
        const shown = JSON.stringify(seen.at(-1), (key, value: unknown) =>
          key === 'client' ? undefined : value,
        );
        throw new Error(`${String(error)}; the hook returned ${shown?.slice(0, 2_000)}`);
      })),
    unmount: () => root.unmount(),
  };
}

/** A page inside the document, as browsers have it. */
export interface RenderedPage {
  readonly element: PageElement;
  unmount(): void;
}

export function renderPage(page: () => ReactNode): RenderedPage {
  const made = window.document.createElement('div');
  const element = window.document.body.appendChild(made);
  const root = createRoot(made);
  flushSync(() => root.render(createElement(page)));
  return {
    element,
    unmount: () => {
      root.unmount();
      element.remove();
    },
  };
}
