import { loadavg } from 'node:os';

const LOOK_MS = 25;
const PATIENCE_MS = 180_000;

export const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));

/** What `look` finds in the end, and how long that took from `began`. */
export async function until(what, look, began = performance.now()) {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    const found = await look();
    if (found) return { found, tookMs: performance.now() - began };
    await sleep(LOOK_MS);
  }
  throw new Error(`waited ${PATIENCE_MS / 1000} s for ${what}`);
}

/** A row of docs/benchmarks.md. */
export function row(what, took) {
  if (took.length === 0) return;
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share) => (sorted[Math.floor((sorted.length - 1) * share)] / 1000).toFixed(2);
  const load = loadavg()[0].toFixed(1);
  process.stdout.write(
    `| ${what} | ${at(0.5)} s (${at(0)} to ${at(1)}), of ${took.length} | load ${load} |\n`,
  );
}
