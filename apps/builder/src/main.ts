import { writeFileSync } from 'node:fs';
import { loadConfig } from '#lib/config';
import { errorText } from '#lib/errors';
import { EXIT, formatTerminationMessage, runProgram } from '#lib/lifecycle';
import { REASON } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { buildSource } from './build-source.js';
import { CONFIG, type BuilderConfig } from './config.js';
import { fetchSource, print, sourceFolder } from './fetch-source.js';
import { withinBound } from './folder-bound.js';

/** The containers of a build's pod, by the argument of each. */
const STEPS: Readonly<Record<string, (config: BuilderConfig, signal: AbortSignal) => Promise<void>>> = {
  fetch: fetchSource,
  build: buildSource,
};

// what it prints is the log of the build, which people read
const log = createLogger('builder', 'warn');

runProgram({ log, askedExitCode: EXIT.failed }, async (context) => {
  const config = loadConfig(CONFIG);
  const [, , word = ''] = process.argv;
  const step = STEPS[word];
  if (!step) return context.stop(EXIT.usage, `unknown step ${word}`);
  try {
    const maxBytes = 2 * config.imageMegabytes * 1_048_576;
    const bound = { folder: sourceFolder(), maxBytes, clock: systemClock };
    await withinBound(bound, (signal) => step(config, signal));
    context.stop(EXIT.ok, 'done');
  } catch (error) {
    const message = errorText(error);
    print(message);
    try {
      writeFileSync(
        config.terminationMessagePath,
        formatTerminationMessage({ reason: REASON.buildFailed, message }),
      );
    } catch {
      // not in a pod: the log has to do
    }
    context.stop(EXIT.failed, message);
  }
});
