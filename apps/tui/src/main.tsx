import { visibleText } from '#lib/command-line';
import { render } from 'ink';
import { flag, loadConfig, optionalText, text } from '#lib/config';
import { findDiskTrouble } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { KubeFeed } from './feed/kube-feed.js';
import { RateRecorder } from './rows/rate-recorder.js';
import { Dashboard } from './screen/dashboard.js';
import { printOnce } from './screen/print-once.js';

const CONFIG = {
  kubeconfigPath: text('KUBECONFIG', 'path of the kubeconfig', { fallback: '.agentplane/kubeconfig' }),
  namespace: optionalText('AGENTPLANE_NAMESPACE', 'namespace to show; the context’s own when missing'),
  dataFolder: optionalText('AGENTPLANE_DATA', 'data folder of the platform when it runs on this machine'),
  allNamespaces: flag('AGENTPLANE_ALL_NAMESPACES', 'show every namespace', { fallback: false }),
};

/** Clears the screen and puts the cursor in the corner. */
const ERASE_SCREEN = '\u001b[2J\u001b[H';

/** Why the first snapshot did not arrive; undefined once it has. */
async function firstTrouble(feed: KubeFeed): Promise<string | undefined> {
  const failed = new Promise<string>((resolve) =>
    feed.subscribe(() => {
      if (feed.problem !== undefined) resolve(feed.problem);
    }),
  );
  return await Promise.race([
    feed.start().then(() => undefined),
    failed,
    systemClock.sleep(10_000).then(() => 'no answer within 10 s'),
  ]);
}

async function main(): Promise<number> {
  const config = loadConfig(CONFIG);
  const connection = await loadKubeConnection({ kubeconfigPath: config.kubeconfigPath });
  const namespace = config.allNamespaces ? undefined : (config.namespace ?? connection.namespace);
  const qualified = namespace === undefined;
  const { dataFolder } = config;
  const feed = new KubeFeed({
    client: new KubeClient(connection, { fieldManager: 'agentplane-dashboard' }),
    namespace,
    findTrouble: () => (dataFolder === undefined ? undefined : findDiskTrouble(dataFolder)),
    clock: systemClock,
    // log lines would tear the screen
    log: createLogger('dashboard', 'silent'),
  });
  const trouble = await firstTrouble(feed);
  if (trouble !== undefined) {
    process.stderr.write(
      `reading from the API server at ${connection.server} failed: ${visibleText(trouble)}\n`,
    );
    return EXIT.failed;
  }
  if (!process.stdout.isTTY) {
    process.stdout.write(printOnce(feed.current, systemClock.now(), qualified));
    return EXIT.ok;
  }
  const rates = new RateRecorder();
  rates.record(feed.current, systemClock.monotonicMs());
  feed.subscribe(() => rates.record(feed.current, systemClock.monotonicMs()));
  const place = `${namespace ?? 'all namespaces'} · ${connection.server}`;
  const screen = render(
    <Dashboard feed={feed} clock={systemClock} rates={rates} place={place} qualified={qualified} />,
    { alternateScreen: true, incrementalRendering: true },
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
    process.stderr.write(`the dashboard failed to start: ${visibleText(errorText(error))}\n`);
    process.exit(EXIT.failed);
  },
);
