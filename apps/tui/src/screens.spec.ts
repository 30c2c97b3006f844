import { build } from 'esbuild';
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { temporaryFolder, waitFor } from '#lib/testing';
import { OnTerminal } from './testdata/on-terminal.js';

const REPOSITORY = resolve(import.meta.dirname, '..', '..', '..');
const GOLDEN = join(import.meta.dirname, 'testdata', 'screens');

/** Waits for the screen of a golden file, which UPDATE_SCREENS=1 writes. */
async function expectGolden(name: string, terminal: OnTerminal): Promise<void> {
  const path = join(GOLDEN, `${name}.txt`);
  if (inheritedEnvironment(['UPDATE_SCREENS'])['UPDATE_SCREENS'] === '1')
    writeFileSync(path, `${await terminal.settled()}\n`);
  await terminal.becomes(readFileSync(path, 'utf8').replace(/\n$/, ''));
}

/** Keys, and the golden file of the screen that they lead to; each differs from the one before. */
const WALK: readonly (readonly [string, string])[] = [
  ['', 'deployments'],
  [':exports\r', 'exports'],
  ['\r', 'runs'],
  [':schedules\r', 'schedules'],
  [':dep', 'prompt'],
  ['\u001b', 'schedules'],
  [':pods\r', 'empty'],
  ['?', 'help'],
];

describe('the screens on a real terminal', () => {
  const folder = temporaryFolder();
  const program = join(folder, 'scene.mjs');

  beforeAll(async () => {
    // so that `#lib/…` leads to the compiled libraries, and packages are those of the repository
    for (const name of ['dist', 'node_modules']) symlinkSync(join(REPOSITORY, name), join(folder, name));
    copyFileSync(join(REPOSITORY, 'package.json'), join(folder, 'package.json'));
    await build({
      entryPoints: [join(import.meta.dirname, 'testdata', 'main.ts')],
      outfile: program,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      jsx: 'automatic',
    });
  });

  it.each([60, 120, 200])('equals its golden files at %d columns', async (columns) => {
    const terminal = new OnTerminal([program], columns, { FORCE_COLOR: columns === 60 ? '0' : '1' });
    try {
      for (const [keys, name] of WALK) {
        terminal.press(keys);
        await expectGolden(`${name}-${columns}`, terminal);
      }
    } finally {
      await terminal.quit();
    }
  });

  it('has one line of place and shows rows at 40 columns and 10 lines', async () => {
    const terminal = new OnTerminal([program], 40, {}, 10);
    try {
      await waitFor(() => /^▸ \S+/m.test(terminal.screen.text()), { what: 'a selected row' });
      const [place, way, headings] = terminal.screen.text().split('\n');
      expect([place, way, headings]).toEqual([
        expect.stringMatching(/^ Agentplane /),
        expect.stringMatching(/^ deployments {2}\d/),
        expect.stringMatching(/^ {2}NAME +STATE/),
      ]);
    } finally {
      await terminal.quit();
    }
  });

  describe('with the mouse', () => {
    const [on, off] = ['\u001b[?1000h\u001b[?1006h', '\u001b[?1006l\u001b[?1000l'];
    const click = (line: number): string => `\u001b[<0;5;${line}M\u001b[<0;5;${line}m`;

    it('selects by a click, opens by a double click, moves by the wheel, and gives the mouse back', async () => {
      const terminal = new OnTerminal([program], 120, { SCENE_MOUSE: 'true' });
      const shows = (wanted: RegExp): Promise<unknown> =>
        waitFor(() => wanted.test(terminal.screen.text()), { what: String(wanted) });
      try {
        await shows(/^▸ *\S+/m);
        const names = [...terminal.screen.text().matchAll(/^[▸ ] (\S+) +\S/gm)]
          .slice(1)
          .map(([, name]) => name);
        expect(names.length).toBeGreaterThan(2);
        terminal.press(click(6));
        await shows(new RegExp(`^▸ ${names[2]}`, 'm'));
        terminal.press('\u001b[<64;5;9M');
        await shows(new RegExp(`^▸ ${names[0]}`, 'm'));
        terminal.press(click(5));
        terminal.press(click(5));
        await shows(new RegExp(`revisions of ${names[1]}`));
      } finally {
        await terminal.quit();
      }
      expect(terminal.written).toContain(on);
      expect(terminal.written.lastIndexOf(off)).toBeGreaterThan(terminal.written.lastIndexOf(on));
    });

    it.each([['crashes', { SCENE_MOUSE: 'true', SCENE_CRASHES_AFTER_MS: '1500' }]])(
      'gives the mouse back when the program %s',
      async (_title, environment) => {
        const terminal = new OnTerminal([program], 120, environment);
        expect(await terminal.ended).not.toBe(0);
        expect(terminal.written).toContain(on);
        expect(terminal.written.lastIndexOf(off)).toBeGreaterThan(terminal.written.lastIndexOf(on));
      },
    );

    it('leaves the mouse to the terminal where it is not asked for', async () => {
      const terminal = new OnTerminal([program], 120, {});
      await waitFor(() => terminal.screen.text().includes('deployments'));
      await terminal.quit();
      expect(terminal.written).not.toContain('?1000');
    });
  });
});
