import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorText } from '#lib/errors';
import { readCertificateFacts } from '#lib/data-folder';
import { EXIT } from '#lib/lifecycle';
import { CommandError } from '../command-error.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';
import { type Context, contextFilePath, readContexts, writeContexts } from './context-file.js';
import { getContext, LOCAL_CONTEXT } from './target.js';

/** A context as it is printed; the key is not. */
interface ShownContext {
  readonly name: string;
  readonly isCurrent: boolean;
  readonly address: string;
  readonly region?: string;
  readonly caFile?: string;
  readonly kubeconfig?: string;
}

const SHAPE: Shape<ShownContext> = {
  nameOf: ({ name }) => name,
  columns: [
    { heading: 'CURRENT', cell: ({ isCurrent }) => (isCurrent ? '*' : '') },
    { heading: 'NAME', cell: ({ name }) => name },
    { heading: 'ADDRESS', cell: ({ address }) => address },
    { heading: 'REGION', cell: ({ region }) => region ?? '' },
    { heading: 'CA FILE', isWide: true, cell: ({ caFile }) => caFile ?? '' },
    { heading: 'KUBECONFIG', isWide: true, cell: ({ kubeconfig }) => kubeconfig ?? '' },
  ],
};

/** `agentplane contexts list`. */
export async function listContexts(output: OutputFormat): Promise<void> {
  const { current = LOCAL_CONTEXT, contexts } = readContexts();
  const local: ShownContext = {
    name: LOCAL_CONTEXT,
    isCurrent: current === LOCAL_CONTEXT,
    address: '(the data folder beside you)',
  };
  const others = contexts.map(({ key: _key, ...shown }) => ({ ...shown, isCurrent: shown.name === current }));
  process.stdout.write(await renderItems(output, [local, ...others], SHAPE));
}

/** `agentplane contexts use NAME`. */
export function useContext(name: string): number {
  const { contexts } = readContexts();
  if (name === LOCAL_CONTEXT) writeContexts({ contexts });
  else writeContexts({ current: getContext(name).name, contexts });
  process.stdout.write(`context ${name} is used from now on\n`);
  return EXIT.ok;
}

/** `agentplane contexts add NAME`: one of that name is replaced. */
export function addContext(
  name: string,
  flags: {
    readonly address: string | undefined;
    readonly keyFile: string | undefined;
    readonly caFile: string | undefined;
    readonly kubeconfig: string | undefined;
    readonly region: string | undefined;
  },
): number {
  const { address, keyFile, caFile, kubeconfig, region } = flags;
  if (name === LOCAL_CONTEXT)
    throw new CommandError('usage', `context ${LOCAL_CONTEXT} is the data folder: choose another name`);
  if (address === undefined || keyFile === undefined)
    throw new CommandError('usage', `context ${name} needs --address and --key-file`);
  if (caFile !== undefined) requireAuthority(caFile, address);
  const { contexts, ...file } = readContexts();
  const added: Context = {
    name,
    address,
    key: readKey(keyFile),
    ...(region === undefined ? {} : { region }),
    ...(caFile === undefined ? {} : { caFile: resolve(caFile) }),
    ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(kubeconfig) }),
  };
  writeContexts({ ...file, contexts: [...contexts.filter((one) => one.name !== name), added] });
  process.stdout.write(
    `context ${name} is in ${contextFilePath()}; "agentplane contexts use ${name}" selects it\n`,
  );
  return EXIT.ok;
}

/** `agentplane contexts remove NAME`. */
export function removeContext(name: string): number {
  const { contexts, current } = readContexts();
  const removed = getContext(name).name;
  writeContexts({
    ...(current === undefined || current === removed ? {} : { current }),
    contexts: contexts.filter((one) => one.name !== removed),
  });
  process.stdout.write(`context ${removed} removed\n`);
  return EXIT.ok;
}

function requireAuthority(caFile: string, address: string): void {
  if (!address.startsWith('https:'))
    throw new CommandError('usage', `--ca-file is for https addresses, but --address is ${address}`);
  try {
    readCertificateFacts(caFile);
  } catch (error) {
    throw new CommandError('failed', errorText(error), { cause: error });
  }
}

/**
 * Reads the key from a file, or from standard input for `-`: on the command line it would be in the shell's
 * history.
 */
function readKey(file: string): string {
  try {
    const key = readFileSync(file === '-' ? 0 : file, 'utf8').trim();
    if (/^\S+$/.test(key)) return key;
  } catch (error) {
    throw new CommandError('failed', `reading the key failed: ${errorText(error)}`, { cause: error });
  }
  throw new CommandError(
    'failed',
    `${file === '-' ? 'standard input' : file} holds no key: expected one word`,
  );
}
