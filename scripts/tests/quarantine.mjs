// The quarantine list: tests that fail now and then, whose cause is being looked for.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export const MAX_ENTRIES = 5;
export const MAX_DAYS = 14;

/** `[{ "file": path, "test": "describe › it", "reason": why, "since": "YYYY-MM-DD" }]` */
export function readQuarantine() {
  return JSON.parse(readFileSync(resolve(import.meta.dirname, '../../test/quarantine.json'), 'utf8'));
}

/** Names of the tests of that file that `npm test` skips. */
export function quarantinedTests(path) {
  if (process.env.AGENTPLANE_LONG_TESTS === '1') return new Set();
  const ofFile = readQuarantine().filter(({ file }) => resolve(file) === path);
  return new Set(ofFile.map(({ test }) => test));
}
