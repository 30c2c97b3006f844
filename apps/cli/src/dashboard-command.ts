import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { EXIT } from '#lib/lifecycle';
import { CommandError } from './command-error.js';
import { resolveTarget, type TargetFlags } from './context/target.js';

const INHERITED = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'FORCE_COLOR',
  'TZ',
  'CI',
];

/**
 * Its environment. The library that colours knows FORCE_COLOR alone, so NO_COLOR (https://no-color.org) is translated;
 * both at once make Node complain.
 */
export function dashboardEnvironment(
  own: Readonly<Record<string, string>>,
  flags: {
    kubeconfig: string;
    namespace?: string | undefined;
    allNamespaces?: boolean;
    dataFolder?: string | undefined;
  },
): Record<string, string> {
  const { NO_COLOR: noColor = '', ...others } = own;
  return {
    ...(noColor === '' ? {} : { FORCE_COLOR: '0' }),
    ...others,
    KUBECONFIG: flags.kubeconfig,
    ...(flags.namespace === undefined ? {} : { AGENTPLANE_NAMESPACE: flags.namespace }),
    ...(flags.dataFolder === undefined ? {} : { AGENTPLANE_DATA: flags.dataFolder }),
    ...(flags.allNamespaces ? { AGENTPLANE_ALL_NAMESPACES: 'true' } : {}),
  };
}

/** `agentplane dashboard`: the terminal screen, in a process of its own, since no other command needs what it loads. */
export function runDashboard(
  flags: TargetFlags & {
    readonly kubeconfig: string | undefined;
    readonly namespace: string | undefined;
    readonly allNamespaces: boolean;
  },
): Promise<number> {
  const place = flags.kubeconfig === undefined ? placeOf(flags) : { kubeconfig: flags.kubeconfig };
  const environment = dashboardEnvironment(inheritedEnvironment(INHERITED), { ...flags, ...place });
  const program = join(INSTALLATION, 'dist', 'apps', 'tui', 'src', 'main.js');
  const child = spawn(process.execPath, [program], { stdio: 'inherit', env: environment });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? EXIT.failed)));
}

function placeOf(flags: TargetFlags): {
  readonly kubeconfig: string;
  readonly dataFolder: string | undefined;
} {
  const { kubeconfig, local, title } = resolveTarget(flags);
  if (kubeconfig !== undefined) return { kubeconfig, dataFolder: local?.root };
  throw new CommandError('failed', `${title} has no kubeconfig: name one with --kubeconfig`);
}
