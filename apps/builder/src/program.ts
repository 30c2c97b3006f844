import { tmpdir } from 'node:os';
import { loadConfig } from '#lib/config';
import { errorText } from '#lib/errors';
import { EXIT, runProgram } from '#lib/lifecycle';
import { REASON } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { BuildError, type WatchedDisk } from './build-error.js';
import { buildSource, endGroup } from './build-source.js';
import { CONFIG, type BuilderConfig, maxFolderBytes } from './config.js';
import { spaceOf } from './disk-space.js';
import { fetchArchive } from './fetch-archive.js';
import { fetchSource } from './fetch-source.js';
import { withinBound } from './folder-bound.js';
import { leaveMessage } from './leave-message.js';
import { hasOwnFolder } from './own-folder.js';
import { print } from './print.js';
import { maxPushBytes, pushSource } from './push/push-source.js';

/** The containers of a build's pod, by the argument of each. */
const STEPS: Readonly<Record<string, Step>> = {
  fetch: { perform: fetchGiven, maxBytes: maxFolderBytes },
  build: { perform: buildSource, maxBytes: maxFolderBytes },
  push: { perform: pushSource, maxBytes: maxPushBytes },
};

interface Step {
  readonly perform: (config: BuilderConfig, signal: AbortSignal) => Promise<void>;
  /** Limit of its working folder. */
  readonly maxBytes: (config: BuilderConfig) => number;
}

// the level is warn: the output of this program is the log of the build, which people read
const log = createLogger('builder', 'warn');

runProgram({ log, askedExitCode: EXIT.failed }, async (context) => {
  const config = loadConfig(CONFIG);
  const [, , word = ''] = process.argv;
  const step = STEPS[word];
  if (!step) return context.stop(EXIT.usage, `unknown step ${word}`);
  try {
    const folder = process.cwd();
    const folders = [folder, ...(hasOwnFolder('/tmp') ? ['/tmp'] : [])];
    const limits = { maxBytes: step.maxBytes(config), disks: disksOf(folder) };
    const bound = { folders, ...limits, clock: systemClock, end: endGroup };
    await withinBound(bound, (signal) => step.perform(config, signal));
    context.stop(EXIT.ok, 'done');
  } catch (error) {
    const message = errorText(error);
    const reason = error instanceof BuildError ? error.reason : REASON.buildFailed;
    print(message);
    leaveMessage(config, { reason, message });
    context.stop(EXIT.failed, message);
  }
});

/** The only step in which builds from git and from archives differ. */
function fetchGiven(config: BuilderConfig, signal: AbortSignal): Promise<void> {
  return config.archive === undefined
    ? fetchSource(config, signal)
    : fetchArchive({ ...config, archive: config.archive }, signal);
}

/** Commands write where they like: `/tmp` may be another disk. */
function disksOf(folder: string): readonly WatchedDisk[] {
  const place = tmpdir();
  return [
    { name: 'the disk of the build', isNeeded: true, space: () => spaceOf(folder) },
    { name: `the disk of ${place}`, isNeeded: false, space: () => spaceOf(place) },
  ];
}
