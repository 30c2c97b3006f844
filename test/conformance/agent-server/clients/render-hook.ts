import { JSDOM } from 'jsdom';
import { createElement } from 'react';
import { waitFor } from '#lib/testing';

const { window } = new JSDOM('<!doctype html>', { url: 'http://localhost/' });
// React looks for the globals of a page when it is loaded
Object.assign(globalThis, { window, document: window.document });
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
      void (await waitFor(() => fits(current()), { what, timeoutMs: 30_000 }).catch((error: unknown) => {
        const shown = JSON.stringify(seen.at(-1), (key, value: unknown) =>
          key === 'client' ? undefined : value,
        );
        throw new Error(`${String(error)}; the hook returned ${shown?.slice(0, 2_000)}`);
      })),
    unmount: () => root.unmount(),
  };
}
