import { visibleText } from '#lib/command-line';
import { loadConfig, optionalText } from '#lib/config';
import { EXIT } from '#lib/lifecycle';
import type { LogLine } from '#lib/pod-logs';
import { RestClient } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget } from '../context/target.js';
import { kubeLogs } from './kube-logs.js';
import { findLogOwner } from './log-owner.js';
import { LogPrinter } from './log-printer.js';
import type { LogsFlags } from './logs-flags.js';
import { restLogs } from './rest-logs.js';

const FIELDS = { noColour: optionalText('NO_COLOR', 'no colours when set') };

/** `agentplane logs NAME`: lines of all its pods by time; from the Kubernetes API, or by REST where there is no kubeconfig. */
export async function printLogs(name: string, flags: LogsFlags): Promise<number> {
  if (flags.follow && flags.previous)
    throw new CommandError('usage', '--previous is of containers that have ended: leave out --follow');
  const target = resolveTarget(flags);
  const { stdout } = process;
  const isTerminal = stdout.isTTY;
  const printer = new LogPrinter(
    { write, isTerminal, hasColours: isTerminal && (loadConfig(FIELDS).noColour ?? '') === '' },
    flags.timestamps,
    flags.output !== undefined,
  );
  if (target.kubeconfig === undefined) {
    const rest = new RestClient(target.rest);
    await printAll(restLogs({ rest, flags, clock: systemClock, onNote }, name), printer);
    return EXIT.ok;
  }
  return await withKube(target, async ({ client, connection }) => {
    const { revision } = flags;
    const namespace = flags.namespace ?? connection.namespace;
    const owner = await findLogOwner(client, name, { namespace, revision });
    const { signal } = new AbortController();
    await printAll(kubeLogs({ client, owner, flags, signal, onNote }), printer);
    return EXIT.ok;
  });
}

async function printAll(batches: AsyncIterable<readonly LogLine[]>, printer: LogPrinter): Promise<void> {
  for await (const lines of batches) await printer.print(lines);
}

function onNote(message: string): void {
  process.stderr.write(`${visibleText(message)}\n`);
}

/** Waits for a slow reader instead of holding the whole log. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once('drain', resolve));
}
