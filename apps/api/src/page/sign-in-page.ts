import { escapeHtml } from './html.js';
import { renderDocument } from './page-document.js';

/** A page that a person who signed in is redirected to; nothing outside of the pages. */
const PAGE_PATH = /^\/o(?:\/[\w-]+)*(?:\?[\w=&.%~-]*)?$/;

/** @returns undefined for anything but the address of a page of this api */
export function pagePathOf(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= 2_000 && PAGE_PATH.test(text) ? text : undefined;
}

/** A page that asks for a key. */
export function renderSignIn(to: string | undefined, problem?: string): Buffer {
  const said = problem === undefined ? '' : `<p class="error" role="alert">${escapeHtml(problem)}</p>`;
  // links of other sites come without the cookie, which is sent from here
  const again =
    to === undefined ? '' : `<p><a href="${escapeHtml(to)}">Signed in already: open the page</a></p>`;
  return renderDocument(
    'Sign in',
    `<h1>Sign in</h1>
<p class="quiet">This page belongs to a workspace. Enter an API key of it that may read traces.</p>
${said}
<form class="key" method="post" action="/sign-in">
<input type="hidden" name="to" value="${escapeHtml(to ?? '')}">
<label>API key <input type="password" name="key" required autofocus autocomplete="current-password" spellcheck="false" maxlength="200"></label>
<div><button>Sign in</button></div>
</form>
${again}`,
  );
}

/** Form above the pages of a signed-in reader. */
export const SIGN_OUT = '<form class="out" method="post" action="/sign-out"><button>Sign out</button></form>';

/** A page that reports a missing page, with a way to another key. */
export function renderMissing(to: string | undefined, detail: string): Buffer {
  return renderSignIn(to, `${detail}, or the key that is signed in may not read it.`);
}

/** Page after a sign-in that came from no page. */
export function renderSignedIn(): Buffer {
  const text = '<p>Open an address of a trace or a project, as the clients print it.</p>';
  return renderDocument('Signed in', `${SIGN_OUT}<h1>Signed in</h1>\n${text}`);
}
