import { findRunningPlatform } from '#lib/data-folder';
import { EXIT } from '#lib/lifecycle';
import { resolveTarget } from '../context/target.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';
import { type Part, readParts } from '../status/status-command.js';
import { type Finding, ok } from './finding.js';
import {
  checkDisk,
  checkMemory,
  checkNode,
  checkPort,
  checkProgram,
  checkPython,
  checkUserNamespaces,
} from './machine-checks.js';

const SHAPE: Shape<Finding> = {
  nameOf: ({ check }) => check,
  columns: [
    { heading: 'CHECK', cell: ({ check }) => check },
    { heading: 'STATE', cell: ({ state }) => state },
    { heading: 'FOUND', cell: ({ found }) => found.replaceAll('\n', ' ') },
    { heading: 'WHAT TO DO', cell: ({ advice }) => advice },
  ],
};

/** `agentplane doctor`: the machine, and the platform on it when one runs. Exit code 1 when something does not work. */
export async function diagnose({
  data,
  output,
}: {
  readonly data: string;
  readonly output: OutputFormat;
}): Promise<number> {
  const isRunning = findRunningPlatform(data) !== undefined;
  const findings = (
    await Promise.all([
      checkNode(),
      checkMemory(),
      checkDisk(data),
      isRunning ? [] : checkPort(),
      checkUserNamespaces(),
      checkProgram('git', 'agents from a git repository need it (Debian: apt-get install git)'),
      checkPython(),
      checkProgram('podman', 'images of agents for a cluster are built with it, and nothing else needs it'),
      isRunning ? platformFindings(data) : stopped(data),
    ])
  ).flat();
  process.stdout.write(await renderItems(output, findings, SHAPE));
  return findings.some(({ state }) => state === 'failed') ? EXIT.failed : EXIT.ok;
}

function stopped(data: string): Finding {
  return {
    check: 'platform',
    state: 'warning',
    found: `none runs over ${data}`,
    advice: 'start one with "agentplane up", or name its folder with --data',
  };
}

async function platformFindings(data: string): Promise<readonly Finding[]> {
  return (await readParts(resolveTarget({ data, context: undefined }))).map((part) => findingOf(part, data));
}

function findingOf({ part, state, detail }: Part, data: string): Finding {
  if (state === 'ok' || state === 'ready') return ok(part, detail === '' ? state : detail);
  const [kind = '', name] = part.split('/');
  // an agent that does not serve is its author's matter; the platform works
  if (kind === 'deployment')
    return {
      check: part,
      state: 'warning',
      found: `${state}: ${detail}`,
      advice: `agentplane events ${name ?? ''}`,
    };
  const advice =
    kind === 'listener' ? `agentplane describe ${part}` : `the end of the logs in ${data}/logs says why`;
  return { check: part, state: 'failed', found: `${state}: ${detail}`, advice };
}
