// A Jest runner without Jest's module sandbox: a few processes run spec files one after another, so that modules are
// loaded once and servers are started once for each process, not for each file. Stock Jest makes a new module graph for
// every file, which cost a third of the processor time of the unit tests.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { takeNext, usesSharedPlatform } from './longest-first.mjs';

/**
 * A spec file that begins with a comment with this word runs in a process of its own: its subject is what modules keep for
 * the whole process, such as metrics.
 */
const OWN_PROCESS = /^\/\*\*(?:(?!\*\/)[^])*@own-process\b/;
/** A process with more resident memory than this is replaced after its file. */
const MAX_WORKER_BYTES = 1.5 * 2 ** 30;
/** A process gets this long to stop its servers. */
const STOP_MS = 60_000;

export default class SharedProcessRunner {
  supportsEventEmitters = false;
  isSerial = false;
  #globalConfig;

  constructor(globalConfig) {
    this.#globalConfig = globalConfig;
  }

  async runTests(tests, _watcher, onStart, onResult, onFailure) {
    const queue = [...tests];
    const onPlatform = new Set(tests.filter(({ path }) => usesSharedPlatform(path)));
    const workers = Math.min(this.#globalConfig.maxWorkers, queue.length);
    /** Runs a file and answers whether its process may run another. */
    const run = async (worker, test) => {
      try {
        const result = await runFile(worker, test, this.#globalConfig);
        await onResult(test, result);
        return result.workerBytes < MAX_WORKER_BYTES;
      } catch (error) {
        await onFailure(test, error);
        return false;
      }
    };
    const next = (lane) => takeNext(queue, lane, (test) => onPlatform.has(test));
    const drain = async (_none, lane) => {
      let shared;
      for (let test = next(lane); test; test = next(lane)) {
        await onStart(test);
        const isAlone = OWN_PROCESS.test(readFileSync(test.path, 'utf8'));
        const worker = isAlone ? startWorker() : (shared ??= startWorker());
        const isReusable = await run(worker, test);
        if (isReusable && !isAlone) continue;
        await stopWorker(worker);
        if (!isAlone) shared = undefined;
      }
      if (shared) await stopWorker(shared);
    };
    await Promise.all(Array.from({ length: workers }, drain));
  }
}

function startWorker() {
  return fork(new URL('./worker.mjs', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
  });
}

/** The result of a file. Rejects when the process ends before it has one. */
function runFile(worker, test, globalConfig) {
  const { path, context } = test;
  return new Promise((resolve, reject) => {
    const onExit = (code, signal) => reject(new Error(`the test process ended with ${signal ?? code}`));
    worker.once('exit', onExit);
    worker.once('message', (result) => {
      worker.off('exit', onExit);
      resolve(result);
    });
    worker.send({ path, config: context.config, globalConfig });
  });
}

async function stopWorker(worker) {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const gone = once(worker, 'exit');
  const timer = setTimeout(() => worker.kill('SIGKILL'), STOP_MS);
  // the process takes the end of its channel for the request to stop
  worker.disconnect();
  await gone;
  clearTimeout(timer);
}
