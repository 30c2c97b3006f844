import { join, relative } from 'node:path';
import type { PlatformCredentials } from '#lib/data-folder';
import { shellWord } from './shell-word.js';

export interface GreetingPlaces {
  readonly dataFolder: string;
  readonly installation: string;
  /** The folder that the commands will be typed in, most likely. */
  readonly here: string;
  readonly tookMs: number;
}

/** What the platform says when it is up; the last line begins with `Ready`. Every command can be pasted as it is. */
export function renderGreeting(
  credentials: PlatformCredentials,
  { dataFolder, installation, here, tookMs }: GreetingPlaces,
): string {
  const near = (path: string): string => {
    const short = relative(here, path);
    return short.startsWith('..') ? path : short;
  };
  // elsewhere npx would look for a package of that name
  const agentplane =
    here === installation
      ? 'npx agentplane'
      : `node ${shellWord(near(join(installation, 'bin', 'agentplane.js')))}`;
  const data = near(dataFolder) === '.agentplane' ? '' : ` --data ${shellWord(dataFolder)}`;
  return [
    '',
    `  REST        ${credentials.restUrl}`,
    `  API key     ${credentials.apiKey}`,
    `  tenant      ${credentials.tenantId}`,
    `  kubeconfig  ${credentials.kubeconfig}`,
    `  data        ${dataFolder}`,
    '',
    '  Try next, in another terminal:',
    `    export KUBECONFIG=${shellWord(credentials.kubeconfig)}`,
    `    kubectl apply -f ${shellWord(near(join(installation, 'examples', 'deployment.yaml')))}`,
    `    ${agentplane} dashboard${data}`,
    '',
    `Ready in ${(tookMs / 1000).toFixed(1)} s. Ctrl-C stops everything.`,
    '',
  ].join('\n');
}
