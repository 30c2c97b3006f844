import { join, relative } from 'node:path';
import type { PlatformCredentials, TlsAddress } from '#lib/data-folder';
import type { OlderKey } from '../preparation/preparation-tasks.js';
import { programWords, shellWord, visibleText } from '#lib/command-line';

const MAX_TROUBLE = 500;

export interface GreetingPlaces {
  /** Keys of a lost `credentials.json` that still work. */
  readonly olderKeys?: readonly OlderKey[];
  /** Parts of workspaces that could not be prepared. */
  readonly troubles?: readonly string[];
  /** Open access on this machine, and the way to close it. */
  readonly warnings?: readonly string[];
  /** Address for other machines. */
  readonly tls?: TlsAddress & { readonly fingerprint: string };
  readonly dataFolder: string;
  readonly installation: string;
  /** The folder that the commands will be typed in, most likely. */
  readonly here: string;
  readonly tookMs: number;
}

/**
 * Output of the platform when it is up; the last line begins with `Ready`. Every command can be pasted as it
 * is.
 */
export function renderGreeting(
  credentials: PlatformCredentials,
  {
    dataFolder,
    installation,
    here,
    tookMs,
    tls,
    olderKeys = [],
    troubles = [],
    warnings = [],
  }: GreetingPlaces,
): string {
  const near = (path: string): string => {
    const short = relative(here, path);
    return short.startsWith('..') ? path : short;
  };
  const agentplane = programWords({ here, installation });
  const data = near(dataFolder) === '.agentplane' ? '' : ` --data ${shellWord(dataFolder)}`;
  return [
    '',
    `  REST        ${credentials.restUrl}`,
    ...(tls
      ? [`  for others  ${tls.url}`, `  certificate ${tls.certificate}`, `  SHA-256     ${tls.fingerprint}`]
      : []),
    `  API key     ${credentials.apiKey}`,
    `  tenant      ${credentials.tenantId}`,
    `  kubeconfig  ${credentials.kubeconfig}`,
    `  data        ${dataFolder}`,
    '',
    ...olderKeys.flatMap(({ id, createdAt }) => [
      `  Key ${id} of ${createdAt.slice(0, 10)}, from an earlier credentials.json, still works; revoke it with`,
      `    ${agentplane} keys revoke ${id}${data}`,
    ]),
    ...(olderKeys.length > 0 ? [''] : []),
    // tenants write parts of these
    ...troubles.map((trouble) => `  Not prepared: ${shortLine(trouble)}`),
    ...(troubles.length > 0 ? [''] : []),
    ...warnings.map((warning) => `  Note: ${warning}`),
    ...(warnings.length > 0 ? [''] : []),
    '  Try next, in another terminal:',
    `    export KUBECONFIG=${shellWord(credentials.kubeconfig)}`,
    `    kubectl apply -f ${shellWord(near(join(installation, 'examples', 'deployment.yaml')))}`,
    `    ${agentplane} dashboard${data}`,
    '',
    `Ready in ${(tookMs / 1000).toFixed(1)} s. Ctrl-C stops everything.`,
    '',
  ].join('\n');
}

function shortLine(text: string): string {
  return visibleText(text.replaceAll(/\s+/g, ' ').slice(0, MAX_TROUBLE));
}
