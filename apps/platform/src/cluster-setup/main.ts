import { loadConfig } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { FIELD_MANAGER } from '#lib/resources';
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

// A hook of the chart: it ends when its step is done, and a step that is done changes nothing when it runs again.
runProgram({ log, askedExitCode: EXIT.failed }, async (context) => {
  const { kubeconfigPath, databaseUri, step, ...first } = loadConfig(CONFIG);
  switch (step) {
    case 'kinds':
      await setUpKinds({ client: await openClient(kubeconfigPath, context), clock, log }, INSTALLATION);
      break;
    case 'schema':
      await setUpSchema(openStore(databaseUri, context), log);
      break;
    case 'workspace': {
      const store = openStore(databaseUri, context);
      const client = await openClient(kubeconfigPath, context);
      await setUpFirstWorkspace({ client, store, clock, log }, first);
    }
  }
  context.stop(EXIT.ok, `the step ${step} is done`);
});
