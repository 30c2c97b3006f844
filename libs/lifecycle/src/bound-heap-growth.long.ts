import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const MODULE = join(import.meta.dirname, 'bound-heap-growth.ts');

/** A program that keeps some 30 MB, and makes a few MB a second that outlive the nursery. */
const PROGRAM = `
  const { boundHeapGrowth } = await import(process.env.MODULE);
  if (process.env.IS_BOUND) boundHeapGrowth();
  const kept = Array.from({ length: 400_000 }, (_, n) => ({ n, text: 'x' + n }));
  globalThis.gc();
  const alive = process.memoryUsage().heapUsed;
  let [most, waiting] = [0, []];
  for (let n = 0; n < 600; n++) {
    for (let m = 0; m < 2000; m++) waiting.push({ m, list: [m] });
    if (n % 30 === 0) waiting = [];
    most = Math.max(most, process.memoryUsage().heapUsed);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  if (kept.length > 0) process.stdout.write(String(most / alive));`;

/** @returns maximum size of the heap, in multiples of the live objects */
function growth(more: Readonly<Record<string, string>>): number {
  const words = ['--expose-gc', '--max-semi-space-size=1', '--no-warnings', '--input-type=module', '--eval'];
  const options = { encoding: 'utf8', env: { MODULE, ...more } } as const;
  return Number(execFileSync(process.execPath, [...words, PROGRAM], options));
}

it('keeps the heap below twice of what is alive, which it is not by itself', () => {
  expect(growth({ IS_BOUND: 'yes' })).toBeLessThan(2.2);
  expect(growth({})).toBeGreaterThan(2.5);
});
