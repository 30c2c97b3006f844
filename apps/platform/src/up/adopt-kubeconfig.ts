import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { FIRST_WORKSPACE } from '#lib/data-folder';
import { workspaceNamespace } from '#lib/resources';
import { parse, stringify } from 'yaml';

interface Kubeconfig {
  readonly clusters?: readonly { readonly cluster?: Record<string, unknown> }[];
  readonly users?: readonly { readonly user?: Record<string, unknown> }[];
  readonly contexts?: readonly { readonly name: string; readonly context?: Record<string, unknown> }[];
  readonly 'current-context'?: string;
}

/** Fields that name files, relative to their kubeconfig. */
const PATH_FIELDS = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile', 'command'];

function resolvePaths(fields: Record<string, unknown> | undefined, folder: string): void {
  for (const name of PATH_FIELDS) {
    const path = fields?.[name];
    if (fields && typeof path === 'string') fields[name] = resolve(folder, path);
  }
}

/** @throws Error that names the file */
function readKubeconfig(path: string): Kubeconfig | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new Error(`the kubeconfig ${path} ${missing ? 'does not exist' : 'cannot be read'}`, {
      ...(missing ? {} : { cause }),
    });
  }
  try {
    return parse(text) as Kubeconfig | null;
  } catch {
    throw new Error(`the kubeconfig ${path} is not valid YAML`);
  }
}

/**
 * Copies a kubeconfig of a person's own cluster into the data folder (0600), with the namespace of the first workspace in
 * its current context, so that commands go where the platform is.
 */
export function adoptKubeconfig(from: string, to: string): void {
  const config = readKubeconfig(from);
  const context = config?.contexts?.find(({ name }) => name === config['current-context'])?.context;
  if (!config || !context) throw new Error(`the kubeconfig ${from} has no current context`);
  for (const { cluster } of config.clusters ?? []) resolvePaths(cluster, dirname(from));
  for (const { user } of config.users ?? []) {
    resolvePaths(user, dirname(from));
    const exec = user?.['exec'] as Record<string, unknown> | undefined;
    // a plugin without a slash is looked for in PATH
    if (String(exec?.['command']).includes('/')) resolvePaths(exec, dirname(from));
  }
  context.namespace = workspaceNamespace(FIRST_WORKSPACE);
  writeFileSync(to, stringify(config), { mode: 0o600 });
}
