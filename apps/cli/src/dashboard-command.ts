import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { delimiter, dirname, join, resolve } from 'node:path';
import { loadConfig, optionalText, wholeEnvironment } from '#lib/config';
import { findRunningPlatform, INSTALLATION } from '#lib/data-folder';
import { EXIT } from '#lib/lifecycle';
import { CommandError } from './command-error.js';
import { resolveTarget, type Target, type TargetFlags } from './context/target.js';

/** The key goes through a pipe: editors and plugins of the kubeconfig inherit the environment. */
const KEY_FD = 3;

const FIELDS = {
  context: optionalText('AGENTPLANE_CONTEXT', 'context to use when --context names none'),
  kubeconfig: optionalText('KUBECONFIG', 'kubeconfig to use when no flag and no context names a platform'),
};

/**
 * Its environment: that of the caller, since plugins of a kubeconfig read their own variables. The library that colours
 * knows FORCE_COLOR alone, so NO_COLOR (https://no-color.org) is translated; both at once make Node complain.
 */
export function dashboardEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  flags: {
    kubeconfig: string;
    namespace?: string | undefined;
    allNamespaces?: boolean;
    view?: string | undefined;
    once?: boolean;
    mouse?: boolean;
    linear?: boolean;
    dataFolder?: string | undefined;
    context?: string | undefined;
    rest?: Target['rest'] | undefined;
  },
): Record<string, string | undefined> {
  const { NO_COLOR: noColor = '', ...others } = own;
  return {
    ...(noColor === '' ? {} : { FORCE_COLOR: '0' }),
    ...others,
    NODE_ENV: 'production', // else React's development form is taken, which needs more time and memory
    KUBECONFIG: flags.kubeconfig,
    ...(flags.namespace === undefined ? {} : { AGENTPLANE_NAMESPACE: flags.namespace }),
    ...(flags.dataFolder === undefined ? {} : { AGENTPLANE_DATA: flags.dataFolder }),
    // chats that are begun on the screen talk with the same platform
    ...(flags.context === undefined ? {} : { AGENTPLANE_CONTEXT: flags.context }),
    ...(flags.rest === undefined
      ? {}
      : { AGENTPLANE_REST_URL: flags.rest.url, AGENTPLANE_REST_KEY_FD: String(KEY_FD) }),
    ...(flags.rest?.caFile === undefined ? {} : { AGENTPLANE_REST_CA: flags.rest.caFile }),
    ...(flags.view === undefined ? {} : { AGENTPLANE_VIEW: flags.view }),
    ...(flags.mouse ? { AGENTPLANE_MOUSE: 'true' } : {}),
    ...(flags.once ? { AGENTPLANE_ONCE: 'true' } : {}),
    ...(flags.linear ? { AGENTPLANE_LINEAR: 'true' } : {}),
    ...(flags.allNamespaces ? { AGENTPLANE_ALL_NAMESPACES: 'true' } : {}),
  };
}

/** `agentplane dashboard`: the terminal screen, in a process of its own, since no other command needs what it loads. */
export function runDashboard(
  flags: TargetFlags & {
    readonly kubeconfig: string | undefined;
    readonly namespace: string | undefined;
    readonly allNamespaces: boolean;
    readonly view: string | undefined;
    readonly once: boolean;
    readonly mouse: boolean;
    readonly linear: boolean;
  },
): Promise<number> {
  const place = dashboardPlace(flags);
  const environment = dashboardEnvironment(wholeEnvironment({}), { ...flags, ...place });
  const program = join(INSTALLATION, 'dist', 'apps', 'tui', 'src', 'main.js');
  const stdio = ['inherit', 'inherit', 'inherit', 'pipe'] as const;
  const child = spawn(process.execPath, [program], { stdio: [...stdio], env: environment });
  const pipe = child.stdio[KEY_FD] as Writable;
  // a dashboard that ended before it read the key has closed the pipe
  pipe.on('error', () => undefined);
  pipe.end(place.rest?.key ?? '');
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? EXIT.failed)));
}

/** Platform that the dashboard shows. */
interface DashboardPlace {
  readonly kubeconfig: string;
  /** Data folder of a platform on this machine. */
  readonly dataFolder?: string | undefined;
  /** Access to keys and traces; without it those views report that it is missing. */
  readonly rest?: Target['rest'] | undefined;
}

/**
 * The cluster that the flags mean: `--kubeconfig`, `--data`, `--context`, then `AGENTPLANE_CONTEXT`, then `KUBECONFIG`
 * (of several files the first that exists), then what every other command takes.
 * @throws CommandError when nothing runs there, or there is no kubeconfig
 */
function dashboardPlace(flags: TargetFlags & { readonly kubeconfig: string | undefined }): DashboardPlace {
  if (flags.kubeconfig !== undefined) return placeOfKubeconfig(flags.kubeconfig);
  const { context, kubeconfig: fromEnvironment } = loadConfig(FIELDS);
  const isNamed = [flags.data, flags.context, context].some((one) => one !== undefined);
  if (fromEnvironment !== undefined && !isNamed)
    return placeOfKubeconfig(firstExisting(fromEnvironment.split(delimiter)));
  const { kubeconfig, local, rest, title } = resolveTarget(flags);
  if (kubeconfig !== undefined) return { kubeconfig, dataFolder: local?.root, rest };
  throw new CommandError('failed', `${title} has no kubeconfig: name one with --kubeconfig`);
}

function firstExisting(paths: readonly string[]): string {
  const named = paths.filter((path) => path !== '');
  return named.find((path) => existsSync(path)) ?? named[0] ?? '';
}

/** Returns the platform of a kubeconfig that a platform of this machine wrote. */
function placeOfKubeconfig(kubeconfig: string): DashboardPlace {
  const platform = findRunningPlatform(dirname(resolve(kubeconfig)));
  if (platform === undefined || resolve(platform.credentials.kubeconfig) !== resolve(kubeconfig))
    return { kubeconfig };
  const { restUrl: url, apiKey: key } = platform.credentials;
  return { kubeconfig, dataFolder: platform.root, rest: { url, key } };
}
