import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, waitFor } from '#lib/testing';
import { browserCommand, urlOpener } from './open-url.js';

const NONE = { browser: undefined, display: undefined, waylandDisplay: undefined };
const URL = 'http://127.0.0.1:9/agents/a?b=$(c)&d';

describe('browserCommand', () => {
  it.each([
    ['what BROWSER names', 'linux', { ...NONE, browser: 'w3m -o x:lynx' }, ['w3m', '-o', 'x']],
    ['the desktop of Linux', 'linux', { ...NONE, waylandDisplay: 'w-0' }, ['xdg-open']],
    ['macOS', 'darwin', NONE, ['open']],
    ['nothing without a desktop', 'linux', NONE, undefined],
    ['nothing for an empty BROWSER', 'linux', { ...NONE, browser: ' ' }, undefined],
  ] as const)('takes %s', (_what, platform, settings, expected) => {
    expect(browserCommand(platform, settings)).toEqual(expected);
  });
});

describe('urlOpener', () => {
  const folder = temporaryFolder();

  it('starts the browser with the address as one word', async () => {
    const file = join(folder, 'opened');
    const copied: string[] = [];
    const command = ['sh', '-c', `echo "$1" > ${file}.new && mv ${file}.new ${file}`, 'sh', '%s'];
    const open = urlOpener({ command, copy: (text) => copied.push(text) });
    expect(await open(URL)).toBe(`${URL} opened`);
    const written = await waitFor(() => {
      try {
        return readFileSync(file, 'utf8');
      } catch {
        return undefined;
      }
    });
    expect([written, copied]).toEqual([`${URL}\n`, []]);
  });

  it.each([[undefined], [['/nowhere/browser']]])(
    'copies the address without a browser: %j',
    async (command) => {
      const copied: string[] = [];
      const open = urlOpener({ command, copy: (text) => copied.push(text) });
      expect(await open(URL)).toBe(`${URL} copied: there is no browser here`);
      expect(copied).toEqual([URL]);
    },
  );

  it('opens no other schemes', async () => {
    const open = urlOpener({ command: undefined, copy: () => undefined });
    await expect(open('file:///etc/passwd')).rejects.toThrow('is no address of a page');
  });
});
