import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { render } from 'ink';
import { visibleText } from '#lib/command-line';
import { loadConfig } from '#lib/config';
import { dataPaths, findDiskTrouble, readCredentials } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { RestClient } from '#lib/rest-client';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { Favourites } from './acting/favourites.js';
import { KubeDeeds } from './acting/kube-deeds.js';
import { browserCommand, urlOpener } from './acting/open-url.js';
import { CONFIG } from './config.js';
import { copyCode } from './render/fit.js';
import { Dashboard } from './screen/dashboard.js';
import { followLines } from './screen/follow-lines.js';
import { PRINTED, printOnce } from './screen/print-once.js';
import { OPENED, takeInput } from './opening.js';
import { findView, getView, VIEWS } from './views/all-views.js';
import { DEPLOYMENTS } from './views/deployments.js';
import type { View } from './views/view.js';
import { KubeWorld } from './world/kube-world.js';
import { RestItems } from './world/rest-items.js';

const PATIENCE_MS = 10_000;
/** Clears the screen and puts the cursor in the corner. */
const ERASE_SCREEN = '\u001b[2J\u001b[H';

/** Reason why the first list did not arrive; undefined once it has. */
async function firstTrouble(world: KubeWorld, namespace: string | undefined): Promise<string | undefined> {
  const items = world.itemsOf(DEPLOYMENTS.source, namespace);
  if (items.hasSynced) return undefined;
  const arrived = new Promise<string | undefined>((resolve) => {
    const end = world.subscribe(() => {
      if (!items.hasSynced && world.problem === undefined) return;
      end();
      resolve(items.hasSynced ? undefined : world.problem);
    });
  });
  return await Promise.race([
    arrived,
    systemClock.sleep(PATIENCE_MS).then(() => `no answer within ${PATIENCE_MS / 1000} s`),
  ]);
}

class UnknownViewError extends Error {}

/** @throws UnknownViewError that lists the views */
function viewOf(word: string): View {
  const view = findView(word);
  if (view) return view;
  throw new UnknownViewError(
    `no view is called ${word}: there are ${VIEWS.map(({ name }) => name).join(', ')}`,
  );
}

function eraseOpening(): void {
  if (process.stdout.isTTY) process.stdout.write(OPENED);
}

async function main(): Promise<number> {
  const config = loadConfig(CONFIG);
  const connection = await loadKubeConnection({ kubeconfigPath: config.kubeconfigPath });
  const namespace = config.allNamespaces ? undefined : (config.namespace ?? connection.namespace);
  const { dataFolder, restUrl, restKeyFd } = config;
  const restKey = restKeyFd === undefined ? undefined : readFileSync(restKeyFd, 'utf8').trim();
  const client = new KubeClient(connection, { fieldManager: 'agentplane-dashboard' });
  const rest =
    restUrl === undefined || restKey === undefined
      ? undefined
      : new RestClient({
          url: restUrl,
          key: restKey,
          ...(config.restCa === undefined ? {} : { caFile: config.restCa }),
        });
  const world = new KubeWorld({
    client,
    findTrouble: () => (dataFolder === undefined ? undefined : findDiskTrouble(dataFolder)),
    ...(rest ? { rest: (source, changed) => new RestItems(rest, source, changed, systemClock) } : {}),
    clock: systemClock,
    // log lines would tear the screen
    log: createLogger('dashboard', 'silent'),
  });
  const trouble = await firstTrouble(world, namespace);
  eraseOpening();
  const hasScreen = process.stdout.isTTY && !config.isOnce && !config.isLinear;
  takeInput(process.stdin, hasScreen && trouble === undefined);
  if (trouble !== undefined) {
    process.stderr.write(
      `reading from the API server at ${connection.server} failed: ${visibleText(trouble)}\n`,
    );
    return EXIT.unreachable;
  }
  const views = config.views.map(viewOf);
  if (!hasScreen) {
    const printed = views.length === 0 ? PRINTED.map(getView) : views;
    const names = printed.map(({ name }) => name);
    process.stdout.write(await printOnce(world, namespace, systemClock, names));
    if (!config.isLinear) return EXIT.ok;
    const write = (line: string): boolean => process.stdout.write(line);
    followLines(world, printed, namespace, { clock: systemClock, write });
    return await new Promise(() => undefined);
  }
  const addresses =
    dataFolder === undefined ? undefined : readCredentials(dataPaths(dataFolder).credentials)?.metrics;
  const pulse = dataFolder === undefined || addresses === undefined ? undefined : { dataFolder, addresses };
  const editor = config.visual ?? config.editor;
  const openUrl = urlOpener({
    command: browserCommand(process.platform, config),
    copy: (text) => process.stdout.write(copyCode(text)),
  });
  const kept = { pulse, dataFolder, folder: process.cwd() };
  const { configHome = join(config.home, '.config'), kubeconfigPath } = config;
  const favourites = new Favourites(join(configHome, 'agentplane', 'dashboard.json'), connection.server);
  const cluster = { client, connection, kubeconfigPath, favourites };
  const deeds = new KubeDeeds({ ...cluster, rest, clock: systemClock, editor, openUrl, ...kept });
  const screen = render(
    <Dashboard
      world={world}
      clock={systemClock}
      deeds={deeds}
      namespace={namespace}
      server={connection.server}
      firstView={views[0]?.name ?? DEPLOYMENTS.name}
      hasMouse={config.hasMouse}
    />,
    { alternateScreen: true, incrementalRendering: true, maxFps: 60, exitOnCtrlC: false },
  );
  // before Ink draws anew: what a smaller window cut off would stay on the screen when it grows again
  process.stdout.prependListener('resize', () => {
    screen.clear();
    process.stdout.write(ERASE_SCREEN);
  });
  await screen.waitUntilExit();
  return EXIT.ok;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    eraseOpening();
    process.stderr.write(`the dashboard failed to start: ${visibleText(errorText(error))}\n`);
    process.exit(error instanceof UnknownViewError ? EXIT.usage : EXIT.failed);
  },
);
