import { globalNameOf } from './bundle-components.js';
import type { UiAsset } from './ui-assets.js';

/** Placeholder that clients replace with the id of the component's root. */
const ROOT = '{{shadowRootId}}';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** A literal of JavaScript that no part of a page takes for anything else: all but letters, digits and `_` is escaped. */
function literal(text: string): string {
  const escaped = text.replace(/\W/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${escaped}"`;
}

/**
 * HTML that loads the components of an entry into a page and shows one of them. Clients insert it into a shadow root and
 * name that root in it.
 * @param base address of the server for the page, without a slash at the end
 * @param component as the caller names it
 */
export function renderSnippet(
  base: string,
  name: string,
  assets: readonly UiAsset[],
  component: string,
): string {
  const address = ({ name: file, hash }: UiAsset): string =>
    escape(`${base}/ui/${encodeURIComponent(name)}/${file}?v=${hash}`);
  const show = escape(`${globalNameOf(name)}.render(${literal(component)}, "${ROOT}")`);
  return assets
    .map((asset) =>
      asset.name.endsWith('.css')
        ? `<link rel="stylesheet" href="${address(asset)}" />`
        : `<script src="${address(asset)}" onload="${show}"></script>`,
    )
    .join('\n');
}
