import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { dataPaths, findRunningPlatform, INSTALLATION, nothingRuns } from '#lib/data-folder';
import { EXIT } from '#lib/lifecycle';

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
  flags: { kubeconfig: string; namespace?: string | undefined; allNamespaces?: boolean },
): Record<string, string> {
  const { NO_COLOR: noColor = '', ...others } = own;
  return {
    ...(noColor === '' ? {} : { FORCE_COLOR: '0' }),
    ...others,
    KUBECONFIG: flags.kubeconfig,
    ...(flags.namespace === undefined ? {} : { AGENTPLANE_NAMESPACE: flags.namespace }),
    ...(flags.allNamespaces ? { AGENTPLANE_ALL_NAMESPACES: 'true' } : {}),
  };
}

/** `agentplane dashboard`: the terminal screen, in a process of its own, since nobody else needs what it loads. */
export function runDashboard(flags: {
  data: string;
  kubeconfig: string | undefined;
  namespace: string | undefined;
  allNamespaces: boolean;
}): Promise<number> {
  if (flags.kubeconfig === undefined && !findRunningPlatform(flags.data)) {
    process.stderr.write(nothingRuns(flags.data));
    return Promise.resolve(EXIT.failed);
  }
  const environment = dashboardEnvironment(inheritedEnvironment(INHERITED), {
    ...flags,
    kubeconfig: flags.kubeconfig ?? dataPaths(flags.data).kubeconfig,
  });
  const program = join(INSTALLATION, 'dist', 'apps', 'tui', 'src', 'main.js');
  const child = spawn(process.execPath, [program], { stdio: 'inherit', env: environment });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? EXIT.failed)));
}
