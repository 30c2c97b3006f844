// A Jest runner without Jest's module sandbox: a few processes run spec files one after another, so that modules are
// loaded once and servers are started once for each process, not for each file. Stock Jest makes a new module graph for
// every file, which cost a third of the processor time of the unit tests.
import { fork } from 'node:child_process';
import { once } from 'node:events';

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
    const workers = Math.min(this.#globalConfig.maxWorkers, queue.length);
    const drain = async () => {
      let worker;
      for (let test = queue.shift(); test; test = queue.shift()) {
        await onStart(test);
        worker ??= startWorker();
        try {
          const result = await runFile(worker, test, this.#globalConfig);
          await onResult(test, result);
          if (result.workerBytes < MAX_WORKER_BYTES) continue;
        } catch (error) {
          await onFailure(test, error);
        }
        await stopWorker(worker);
        worker = undefined;
      }
      if (worker) await stopWorker(worker);
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
