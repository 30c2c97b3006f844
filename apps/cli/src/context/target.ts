import { type FlagsOf, optional } from '#lib/command-line';
import { loadConfig, optionalText } from '#lib/config';
import { DEFAULT_DATA, findRunningPlatform, nothingRuns, type RunningPlatform } from '#lib/data-folder';
import { readAuthority, type RestAccess } from '#lib/rest-client';
import { errorText } from '#lib/errors';
import { CommandError } from '../command-error.js';
import { type Context, readContexts } from './context-file.js';

/** The data folder as a context: what `contexts use` goes back to. */
export const LOCAL_CONTEXT = 'local';

/** Options that select the platform of a command; the same for every command that talks to one. */
export const TARGET_OPTIONS = {
  data: optional('--data <dir>', `data folder of the platform (default ${DEFAULT_DATA})`, 'folder'),
  context: optional('--context <name>', 'platform to talk to, see "contexts list"', 'context'),
};

export type TargetFlags = FlagsOf<typeof TARGET_OPTIONS>;

const FIELDS = {
  context: optionalText('AGENTPLANE_CONTEXT', 'context to use when --context names none'),
};

/** A platform and how to reach it. */
export interface Target {
  /** Name in messages: `the data folder X`, `context X`. */
  readonly title: string;
  readonly rest: RestAccess;
  /** The platform on this machine, when it is that. */
  readonly local: RunningPlatform | undefined;
  readonly kubeconfig: string | undefined;
}

/**
 * The platform that the flags mean: `--data`, else `--context`, else the environment's context, else the one chosen with
 * `contexts use`, else the data folder beside the user.
 * @throws CommandError when there is no such context, or nothing runs over the data folder
 */
export function resolveTarget({ data, context }: TargetFlags): Target {
  if (data !== undefined && context !== undefined)
    throw new CommandError('usage', '--data and --context name two platforms: give one of them');
  if (data !== undefined) return localTarget(data);
  const name = context ?? loadConfig(FIELDS).context ?? readContexts().current;
  return name === undefined || name === LOCAL_CONTEXT
    ? localTarget(DEFAULT_DATA)
    : remoteTarget(getContext(name));
}

/** @throws CommandError `notFound` */
export function getContext(name: string): Context {
  const { contexts } = readContexts();
  const found = contexts.find((one) => one.name === name);
  if (found) return found;
  const known = [LOCAL_CONTEXT, ...contexts.map((one) => one.name)].join(', ');
  throw new CommandError(
    'notFound',
    `context ${name} does not exist: known are ${known}; "agentplane contexts add ${name} --address URL --key-file FILE" makes it`,
  );
}

function localTarget(data: string): Target {
  const platform = findRunningPlatform(data);
  if (!platform) throw new CommandError('unreachable', nothingRuns(data).trimEnd());
  const { restUrl, apiKey, kubeconfig } = platform.credentials;
  return {
    title: `the data folder ${data}`,
    rest: { url: restUrl, key: apiKey },
    local: platform,
    kubeconfig,
  };
}

/** @throws CommandError when its certificates cannot be read */
function remoteTarget({ name, address, key, caFile, kubeconfig }: Context): Target {
  if (caFile !== undefined) requireAuthority(name, caFile);
  return {
    title: `context ${name}`,
    rest: { url: address, key, ...(caFile === undefined ? {} : { caFile }) },
    local: undefined,
    kubeconfig,
  };
}

function requireAuthority(name: string, caFile: string): void {
  try {
    readAuthority(caFile);
  } catch (error) {
    throw new CommandError('failed', `context ${name}: ${errorText(error)}`, { cause: error });
  }
}
