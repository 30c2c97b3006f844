import { loadConfig } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { EventRecorder, KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { EVENT, FIELD_MANAGER, JOBS, type ObjectKey } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { systemClock as clock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { CONFIG } from './config.js';
import { setUpFirstWorkspace, setUpKinds, setUpSchema } from './set-up.js';

const log = createLogger('cluster-setup');

async function openClient(path: string | undefined, context: ProgramContext): Promise<KubeClient> {
  const connection = await loadKubeConnection({ kubeconfigPath: path });
  const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.setup });
  context.own({ name: 'kubernetes client', stop: () => client.close() });
  return client;
}

function openStore(uri: string | undefined, context: ProgramContext): TraceStore {
  if (uri === undefined)
    throw new Error('AGENTPLANE_DATABASE_URI is missing: this step needs the database of traces');
  const store = openTraceStore({ program: 'setup', uri, poolSize: 2, log, clock });
  context.own({ name: 'trace store', stop: () => store.close() });
  return store;
}

/** The log goes with the pod, and helm names the Job alone: the reason is kept on that. */
async function reportFailure(client: KubeClient, job: Required<ObjectKey>, text: string): Promise<void> {
  const events = new EventRecorder({ client, component: FIELD_MANAGER.setup, log, clock });
  try {
    const found = await client.get(JOBS, job);
    events.record(JOBS, found, { type: 'Warning', reason: EVENT.setupFailed, message: text });
    await events.flush();
  } catch (error) {
    log.debug({ problem: errorText(error) }, 'the failure could not be reported on its Job');
  }
}

// A hook of the chart: it ends when its step is done, and a step that is done changes nothing when it runs again.
runProgram({ log, askedExitCode: EXIT.failed }, async (context) => {
  const { kubeconfigPath, databaseUri, step, job, ...first } = loadConfig(CONFIG);
  const client = await openClient(kubeconfigPath, context);
  try {
    if (step === 'kinds') await setUpKinds({ client, clock, log }, INSTALLATION);
    else {
      const store = openStore(databaseUri, context);
      if (step === 'schema') await setUpSchema(store, log);
      else await setUpFirstWorkspace({ client, store, clock, log }, first);
    }
  } catch (error) {
    const at = { namespace: first.systemNamespace, name: job ?? '' };
    if (job !== undefined) await reportFailure(client, at, `the step ${step} failed: ${errorText(error)}`);
    throw error;
  }
  context.stop(EXIT.ok, `the step ${step} is done`);
});
