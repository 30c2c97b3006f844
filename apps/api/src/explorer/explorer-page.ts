import { createHash } from 'node:crypto';

const STYLE = `
body { margin: 0; background: #fff; color: #1c1f24; font: 15px/1.5 system-ui, sans-serif; }
header { max-width: 1460px; margin: 0 auto; padding: 1rem 20px 0; box-sizing: border-box; }
header label { display: block; font-weight: 600; }
header input { width: 100%; max-width: 34rem; box-sizing: border-box; padding: .45rem .6rem; font: inherit;
  border: 1px solid #5c6570; border-radius: .3rem; }
header p { margin: .3rem 0; color: #5c6570; }
:focus-visible { outline: 2px solid #0b57d0; outline-offset: 1px; }
`;

/**
 * Loads the explorer, and adds the key to the explorer's requests. The key is in the field alone: not in an
 * address, not in the browser's storage, and not in the curl lines on the screen.
 */
const SCRIPT = `
'use strict';
const key = document.querySelector('#key');
const shown = document.querySelector('#explorer');
const none = () => () => null;
const start = () => SwaggerUIBundle({
  url: '/openapi.json',
  domNode: shown,
  deepLinking: true,
  // headings first: with more open than fits, the explorer draws operations as they are scrolled to
  docExpansion: 'none',
  defaultModelsExpandDepth: -1,
  tryItOutEnabled: true,
  validatorUrl: null,
  showMutatedRequest: false,
  // the field above is the one place for the key
  plugins: [() => ({ wrapComponents: { authorizeBtn: none, AuthorizeBtnContainer: none, authorizeOperationBtn: none } })],
  requestInterceptor: (request) => {
    const value = key.value.trim();
    if (value !== '' && !request.loadSpec) request.headers['X-Api-Key'] = value;
    return request;
  },
});
const code = document.createElement('script');
code.src = '/docs/swagger-ui-bundle.js';
code.addEventListener('load', start);
code.addEventListener('error', () => { shown.textContent = 'Loading the explorer failed; reload the page.'; });
document.head.append(code);
`;

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/**
 * Scripts: the page's own, and those that it loads. Requests: the api alone, so that the key can go nowhere
 * else. Images are those in the style sheet.
 */
export const EXPLORER_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; connect-src 'self'; img-src data:; script-src ${hashOf(SCRIPT)} 'strict-dynamic'; style-src 'self' ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex',
};

/** The page that shows `/openapi.json`: the same bytes for all callers, without a secret. */
export const EXPLORER_PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Agentplane: REST interface</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/swagger-ui.css"><style>${STYLE}</style></head>
<body>
<header>
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" aria-describedby="key-about">
<p id="key-about">Sent as X-Api-Key to this server only; the page forgets it when it is closed or reloaded. <a href="/openapi.json">openapi.json</a> has the same interface for tools.</p>
</header>
<div id="explorer"></div>
<noscript>This page needs JavaScript; <a href="/openapi.json">openapi.json</a> does not.</noscript>
<script>${SCRIPT}</script>
</body>
</html>
`;
