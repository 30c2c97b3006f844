import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const MAIN = join(import.meta.dirname, 'main.mjs');

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly complaint: string;
}

/** A benchmark that measured would take a minute at least. */
function bench(...words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const run = execFile(process.execPath, [MAIN, ...words], { timeout: 50_000 }, (_error, out, complaint) =>
      resolve({ code: run.exitCode ?? -1, out, complaint }),
    );
  });
}

const NAMES = [
  'cold-start',
  'dashboard',
  'export',
  'agent-server',
  'agent-memory',
  'run-logs',
  'store',
  'stalled-readers',
  'nest',
  'trace-store',
  'scale-to-zero',
  'control-plane',
];

describe('a benchmark', () => {
  it('has its name in the help of all', async () => {
    const { code, out } = await bench('--help');
    expect(code).toBe(0);
    for (const name of NAMES) expect(out).toContain(name);
  });

  it.each(NAMES)('%s prints its help and measures nothing', async (name) => {
    const { code, out } = await bench(name, '--help');
    expect(code).toBe(0);
    expect(out).toContain(`npm run bench -- ${name}`);
  });

  it.each([
    ['export', 'some'],
    ['export', '0'],
    ['control-plane', '2.5'],
    ['stalled-readers', '60', 'many'],
    ['trace-store', '--runs', 'ten'],
  ])('%s refuses a number that is none: %s', async (...words) => {
    const { code, complaint } = await bench(...words);
    expect(code).toBe(1);
    expect(complaint).toContain('give a whole number');
  });

  it.each([
    ['export', '1', '1', 'more'],
    ['nest', '--fast'],
  ])('%s refuses what it does not know: %s', async (...words) => {
    const { code, complaint } = await bench(...words);
    expect(code).toBe(1);
    expect(complaint).toMatch(/unknown (argument|option)/i);
  });

  it('refuses a name that no benchmark has', async () => {
    const { code, complaint } = await bench('exports');
    expect(code).toBe(2);
    expect(complaint).toContain('unknown benchmark exports');
  });
});
