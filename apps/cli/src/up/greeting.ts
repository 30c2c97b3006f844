import { relative } from 'node:path';
import type { PlatformCredentials } from '../data-folder/credentials.js';

/** What the platform says when it is up; the last line begins with `Ready`. */
export function renderGreeting(
  credentials: PlatformCredentials,
  dataFolder: string,
  here: string,
  tookMs: number,
): string {
  const near = (path: string): string => {
    const short = relative(here, path);
    return short.startsWith('..') ? path : short;
  };
  return [
    '',
    `  REST        ${credentials.restUrl}`,
    `  API key     ${credentials.apiKey}`,
    `  tenant      ${credentials.tenantId}`,
    `  kubeconfig  ${credentials.kubeconfig}`,
    `  data        ${dataFolder}`,
    '',
    '  Try next, in another terminal:',
    `    export KUBECONFIG=${credentials.kubeconfig}`,
    `    kubectl apply -f ${near('examples/deployment.yaml')}`,
    `    npx agentplane dashboard${near(dataFolder) === '.agentplane' ? '' : ` --data ${dataFolder}`}`,
    '',
    `Ready in ${(tookMs / 1000).toFixed(1)} s. Ctrl-C stops everything.`,
    '',
  ].join('\n');
}
