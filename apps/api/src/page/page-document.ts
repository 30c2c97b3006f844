import { createHash } from 'node:crypto';
import { escapeHtml } from './html.js';
import { PAGE_SCRIPT } from './page-script.js';
import { PAGE_STYLE } from './page-style.js';

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/**
 * Headers that allow a page only its own style and script: no image, no frame, nothing of other hosts, and
 * forms for the api alone.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${hashOf(PAGE_STYLE)}; script-src ${hashOf(PAGE_SCRIPT)}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  // a browser with no-referrer would not send the origin of a form
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex',
};

/** @param main escaped already */
export function renderDocument(title: string, main: string): Buffer {
  return Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${PAGE_STYLE}</style></head>
<body>
<main>
${main}
</main>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`);
}
