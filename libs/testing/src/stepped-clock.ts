import { chmodSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LIBRARIES = '/usr/lib';
const FILE = join('faketime', 'libfaketimeMT.so.1');

/**
 * The wall clock of one process, which a test sets forward or back while the process runs; its monotonic
 * clock continues. Uses libfaketime (Debian: `apt-get install faketime`), never the machine's own clock.
 */
export interface SteppedClock {
  /** Variables of the process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Takes effect within a second. */
  step(seconds: number): void;
}

/** Undefined where libfaketime is missing; what needs it must then be left out loudly. */
export function steppedClock(): SteppedClock | undefined {
  const library = readdirSync(LIBRARIES)
    .map((folder) => join(LIBRARIES, folder, FILE))
    .find((path) => existsSync(path));
  if (library === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-clock-'));
  chmodSync(folder, 0o755); // Postgres may be another user
  const file = join(folder, 'offset');
  const step = (seconds: number): void => writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  step(0);
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    step,
  };
}
