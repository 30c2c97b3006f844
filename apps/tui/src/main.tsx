import { render } from 'ink';
import { flag, loadConfig, optionalText, text } from '#lib/config';
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
  allNamespaces: flag('AGENTPLANE_ALL_NAMESPACES', 'show every namespace', { fallback: false }),
};

async function main(): Promise<number> {
  const config = loadConfig(CONFIG);
  const connection = await loadKubeConnection({ kubeconfigPath: config.kubeconfigPath });
  const namespace = config.allNamespaces ? undefined : (config.namespace ?? connection.namespace);
  const qualified = namespace === undefined;
  const feed = new KubeFeed({
    client: new KubeClient(connection, { fieldManager: 'agentplane-dashboard' }),
    namespace,
    clock: systemClock,
    // the screen is no place for log lines
    log: createLogger('dashboard', 'silent'),
  });
  const started = await Promise.race([
    feed.start().then(() => true),
    systemClock.sleep(10_000).then(() => false),
  ]);
  if (!started) {
    process.stderr.write(
      `The API server at ${connection.server} did not answer within 10 s. Is the platform running?\n`,
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
  await screen.waitUntilExit();
  return EXIT.ok;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`The dashboard could not start: ${errorText(error)}\n`);
    process.exit(EXIT.failed);
  },
);
