import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { inheritedEnvironment } from '#lib/config';
import { parseGraphConfiguration } from '#lib/graph-configuration';

/** Variables of `--env-file`; the shell's own come first. */
function readEnvFile(path: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(parseEnv(readFileSync(path, 'utf8'))))
    if (value !== undefined) variables[name] = value;
  return { ...variables, ...inheritedEnvironment(Object.keys(variables)) };
}

/** The variables with which the agent server of a folder runs. */
export function devEnvironment(
  agent: string,
  {
    uri,
    data,
    envFile,
  }: { readonly uri: string; readonly data: string; readonly envFile: string | undefined },
): Record<string, string> {
  return {
    ...(envFile === undefined ? {} : readEnvFile(resolve(envFile))),
    HOST: '127.0.0.1',
    POSTGRES_URI: uri,
    TERMINATION_MESSAGE_PATH: join(data, 'termination-message'),
    AGENTPLANE_AUTH: 'off',
    AGENTPLANE_REPORTS: 'true',
    AGENTPLANE_DEPLOYMENT: basename(agent),
    AGENTPLANE_DRAIN_MS: '8000',
    // the next server, which has the code that was changed, takes the runs that are waited for here; on a busy machine it
    // is not up before these eight seconds are over
    AGENTPLANE_SETTLE_MS: '30000',
  };
}

const SETTINGS = ['langgraph.json', 'package.json', 'tsconfig.json', 'pyproject.toml', 'requirements.txt'];

/** Files beside its sources that decide how an agent is loaded, and the graphs that it names. */
export function agentSettings(
  agent: string,
  envFile: string | undefined,
): {
  readonly files: readonly string[];
  readonly graphIds: readonly string[];
  /** Pages that it names in `http.cors`. */
  readonly origins: readonly string[];
} {
  const files = SETTINGS.map((name) => join(agent, name));
  if (envFile !== undefined) files.push(resolve(envFile));
  try {
    const { env, graphs, http } = parseGraphConfiguration(
      readFileSync(join(agent, 'langgraph.json'), 'utf8'),
      ['javascript', 'python'],
    );
    files.push(resolve(agent, typeof env === 'string' ? env : '.env'));
    return { files, graphIds: graphs.map(({ graphId }) => graphId), origins: http.cors?.origins ?? [] };
  } catch {
    // the agent server says what is wrong with it
    return { files: [...files, join(agent, '.env')], graphIds: [], origins: [] };
  }
}
