// Records docs/picture.svg, the moving picture of the README: a platform is started, an agent deployed, asked, exported
// and looked at, in two real terminals. Run: node bin/node24.js scripts/picture.mjs (Linux; port 8470 must be free).
import { build } from 'esbuild';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt } from '../bin/ensure-built.js';
import { framesToSvg } from './picture/frames-to-svg.mjs';
import { RecordedTerminal } from './picture/recorded-terminal.mjs';

const SIZE = { columns: 92, rows: 25 };
/** Nobody waits longer than that for the next screen. */
const LONGEST_MS = 800;
const HOLD_MS = 3_000;

const root = resolve(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'agentplane-picture-'));

/** The emulator of the dashboard's tests. */
async function loadScreen() {
  const outfile = join(folder, 'terminal-screen.mjs');
  const entry = join(root, 'apps', 'tui', 'src', 'testdata', 'terminal-screen.ts');
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm' });
  return (await import(pathToFileURL(outfile).href)).TerminalScreen;
}

/** A folder that looks like a checkout, with a data folder of its own. */
function makeCheckout() {
  const checkout = join(folder, 'agentplane');
  mkdirSync(checkout);
  for (const name of readdirSync(root))
    if (!name.startsWith('.')) symlinkSync(join(root, name), join(checkout, name));
  return checkout;
}

/** Nothing of this machine: its folders, and keys, which end with the folder. */
function cleaned(text) {
  return text
    .replaceAll(join(folder, 'agentplane'), '~/agentplane')
    .replaceAll(`${root}/`, '')
    .replace(/\bapk_\w+/g, 'apk_••••••••••••')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{22}/g, '3f0b6a52-7b0e-4d4e-9f0a-2f6f8c1d9a11');
}

/** Frames one after the other, without long waits. */
function inOneTime(recordings) {
  let atMs = 0;
  const frames = [];
  for (const recorded of recordings) {
    let formerMs = recorded[0].atMs;
    for (const { atMs: realMs, lines } of recorded) {
      atMs += Math.round(Math.min(LONGEST_MS, realMs - formerMs));
      formerMs = realMs;
      const shown = lines.map((pieces) => pieces.map(({ text, style }) => ({ text: cleaned(text), style })));
      if (frames.at(-1)?.atMs === atMs) frames.pop();
      frames.push({ atMs, lines: shown });
    }
    atMs += 2 * LONGEST_MS;
  }
  return frames;
}

async function tellStory(Screen, checkout) {
  const { PATH } = process.env;
  const environment = { PATH, HOME: folder, TERM: 'xterm', LANG: 'C.UTF-8', PS1: '$ ', FORCE_COLOR: '1' };
  const place = { ...SIZE, cwd: checkout, environment };
  const first = new RecordedTerminal(Screen, place);
  const second = new RecordedTerminal(Screen, place);
  try {
    await first.shows(/\$/);
    first.begin();
    await first.type('npm start\r');
    await first.shows(/Ready in/);
    const started = [...first.frames];

    await second.type(
      `KEY=$(node -p "require('./.agentplane/credentials.json').apiKey"); alias agentplane='npx agentplane'; clear\r`,
    );
    await second.wait(1_000);
    second.begin();
    await second.type('agentplane deploy sample-agent\r');
    await second.shows(/serves at http/);
    await second.type('clear\r');
    await second.shows(/^\$$/);
    await second.paste(`URL=$(agentplane get agents sample-agent -o jsonpath='{.status.url}')\r`);
    await second.shows(/\n\$$/);
    await second.paste(
      `curl -s $URL/runs/wait -H "x-api-key: $KEY" -H 'content-type: application/json' -d '{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"what is 2 + 40?"}]}}' | grep -o 'The answer[^"]*'\r`,
    );
    await second.shows(/^The answer is 42/m);
    await second.wait(1_500);
    await second.type('agentplane export create first --project sample-agent --wait\r');
    await second.shows(/first completed/);
    await second.wait(1_000);
    await second.type('agentplane dashboard\r');
    await second.shows(/deployments {2}1/);
    await second.wait(900);
    await second.type('\r');
    await second.shows(/revisions of sample-agent/);
    await second.wait(900);
    await second.type(':exports\r');
    await second.shows(/exports {2}1/);
    await second.wait(900);
    await second.type('\r');
    await second.shows(/runs of first/);
    await second.wait(900);
    await second.type(':traces\r');
    await second.shows(/traces {2}1/);
    await second.wait(900);
    await second.type('\r');
    await second.shows(/ScriptedChatModel/);
    await second.wait(1_000);
    return [started, [...second.frames]];
  } finally {
    await second.close();
    await first.close();
  }
}

if (!ensureBuilt()) process.exit(1);
try {
  const recordings = await tellStory(await loadScreen(), makeCheckout());
  const title = 'A terminal: agentplane starts, deploys an agent, asks it, exports its runs and shows them';
  const svg = framesToSvg(inOneTime(recordings), { ...SIZE, title, holdMs: HOLD_MS });
  writeFileSync(join(root, 'docs', 'picture.svg'), svg);
  process.stdout.write(`docs/picture.svg: ${(svg.length / 1000).toFixed(0)} kB\n`);
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
