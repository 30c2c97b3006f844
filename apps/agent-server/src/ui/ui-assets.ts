import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';
import { errorText, TerminalError } from '#lib/errors';
import type { UiSettings } from '#lib/graph-configuration';
import { REASON } from '#lib/resources';
import { describeFailure } from '../graph/compile-sources.js';
import { bundleComponents, type BundledComponents, globalNameOf } from './bundle-components.js';

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
  const address = ({ name: file }: UiAsset): string =>
    escape(`${base}/ui/${encodeURIComponent(name)}/${file}`);
  // no part of it holds a quotation mark of the attribute
  const show = `${globalNameOf(name)}.render(${literal(component)}, "${ROOT}")`;
  return assets
    .map((asset) =>
      asset.name.endsWith('.css')
        ? `<link rel="stylesheet" href="${address(asset)}" />`
        : `<script src="${address(asset)}" onload='${show}'></script>`,
    )
    .join('\n');
}

/** Limit of the files of a component; servers keep them in memory. */
const MAX_BYTES = 16 * 2 ** 20;

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** A file of a page. */
interface UiAsset {
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
  /** Hash of its bytes: changes with them, and is the same at every replica. */
  readonly hash: string;
}

function failed(name: string, what: string, cause?: unknown): TerminalError {
  const message = `"ui" of langgraph.json: ${name} failed to load: ${what}`;
  return new TerminalError(REASON.graphLoadFailed, message, { cause });
}

function assetOf(name: string, contents: Uint8Array): UiAsset {
  const hash = createHash('sha256').update(contents).digest('base64url').slice(0, 27);
  return { name, type: TYPES[extname(name)] ?? 'text/plain', bytes: Buffer.from(contents), hash };
}

export interface UiFolder {
  /** Real path of the agent's folder. */
  readonly folder: string;
  readonly ui: UiSettings;
}

/** The components of one agent as pages load them, bundled once at start: each server has the same bytes. */
export class UiAssets {
  private constructor(private readonly entries: ReadonlyMap<string, readonly UiAsset[]>) {}

  /**
   * @param onSources learns of the agent's own files that components are made of
   * @throws TerminalError (`GraphLoadFailed`) with file, line and column of each error
   */
  static async load(
    { folder, ui }: UiFolder,
    onSources: (files: readonly string[]) => void,
  ): Promise<UiAssets> {
    const entries = new Map<string, readonly UiAsset[]>();
    for (const { name, file } of ui.entries) {
      const entry = { name, file: normalize(file) };
      if (!existsSync(join(folder, entry.file))) throw failed(name, `${entry.file} does not exist`);
      let bundled: BundledComponents;
      try {
        bundled = await bundleComponents(folder, entry, ui.shared);
      } catch (error) {
        throw failed(name, describeFailure(error) ?? errorText(error), error);
      }
      onSources(bundled.sources);
      const assets = [...bundled.files]
        .map(([path, contents]) => assetOf(path, contents))
        .sort((one, other) => (one.name < other.name ? -1 : 1));
      const bytes = assets.reduce((sum, asset) => sum + asset.bytes.length, 0);
      if (bytes > MAX_BYTES)
        throw failed(
          name,
          `its bundle has ${bytes} bytes, and ${MAX_BYTES} at most are served; import less, or name packages in "ui_config.shared"`,
        );
      entries.set(name, assets);
    }
    return new UiAssets(entries);
  }

  /** Files of an entry of `ui`, styles first; undefined for an unknown name. */
  of(name: string): readonly UiAsset[] | undefined {
    return this.entries.get(name);
  }

  find(name: string, file: string): UiAsset | undefined {
    return this.of(name)?.find((asset) => asset.name === file);
  }
}
