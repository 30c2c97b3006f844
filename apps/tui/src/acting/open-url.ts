import { spawn } from 'node:child_process';
import type { Hands } from '../views/common-actions.js';

/** Settings of the environment that tell if there is a browser. */
export interface BrowserSettings {
  readonly browser: string | undefined;
  readonly display: string | undefined;
  readonly waylandDisplay: string | undefined;
}

/** The words that open an address; undefined where no browser can be. */
export function browserCommand(
  platform: NodeJS.Platform,
  { browser, display, waylandDisplay }: BrowserSettings,
): readonly string[] | undefined {
  // several may be named, the first wins
  const named = browser?.split(':')[0]?.split(/\s+/).filter(Boolean) ?? [];
  if (named.length > 0) return named;
  if (platform === 'darwin') return ['open'];
  return display === undefined && waylandDisplay === undefined ? undefined : ['xdg-open'];
}

/** Opens addresses by a command; copies them without one, or where it cannot be started. */
export function urlOpener({
  command,
  copy,
}: {
  readonly command: readonly string[] | undefined;
  readonly copy: (text: string) => void;
}): Hands['openUrl'] {
  return async (url) => {
    // tenants write addresses too
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new Error(`${url} is no address of a page`);
    if (command !== undefined && (await starts(wordsFor(command, url)))) return `${url} opened`;
    copy(url);
    return `${url} copied: there is no browser here`;
  };
}

function wordsFor(command: readonly string[], url: string): readonly string[] {
  return command.some((word) => word.includes('%s'))
    ? command.map((word) => word.replaceAll('%s', () => url))
    : [...command, url];
}

function starts([program = '', ...words]: readonly string[]): Promise<boolean> {
  const child = spawn(program, words, { stdio: 'ignore', detached: true });
  child.unref();
  return new Promise((resolve) => {
    child.once('spawn', () => resolve(true));
    child.once('error', () => resolve(false));
  });
}
