import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { errorText } from '#lib/errors';
import { EXIT } from '#lib/lifecycle';
import { RestClient } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import type { OutputFormat } from '../output/output-format.js';
import { renderItems, type Shape } from '../output/print-items.js';
import { print } from '../output/print.js';
import { type Deployment, readDeployment } from '../rollout/revisions.js';
import { waiting, type WaitFlags } from '../rollout/rollout-command.js';
import { waitForRevision } from '../rollout/wait-for-revision.js';

interface Secret {
  readonly name: string;
}

const SHAPE: Shape<Secret> = {
  nameOf: ({ name }) => name,
  columns: [{ heading: 'NAME', cell: ({ name }) => name }],
};

/** `agentplane secrets list NAME`. */
export async function listSecrets(
  name: string,
  { output, ...flags }: TargetFlags & { readonly output: OutputFormat },
): Promise<number> {
  const rest = new RestClient(resolveTarget(flags).rest);
  const { id } = await readDeployment(rest, name);
  const { secrets } = await rest.request<{ readonly secrets: readonly Secret[] }>(
    'GET',
    `/v2/deployments/${id}`,
  );
  const names = secrets.map((secret) => ({ name: secret.name }));
  process.stdout.write(await renderItems(output, names, SHAPE));
  return EXIT.ok;
}

/** `agentplane secrets set NAME -f FILE`: values on the command line would be in the shell's history. */
export async function setSecrets(
  name: string,
  { file, ...flags }: WaitFlags & { readonly file: string | undefined },
): Promise<number> {
  if (file === undefined)
    throw new CommandError(
      'usage',
      'secrets set needs a file of NAME=value lines: -f FILE, or -f - for standard input',
    );
  const secrets = readSecrets(file);
  const rest = new RestClient(resolveTarget(flags).rest);
  const deployment = await readDeployment(rest, name);
  const path = `/v2/deployments/${deployment.id}`;
  const { latest_revision_id: made } = await rest.request<Deployment>('PATCH', path, { secrets });
  print(`${deployment.name} has ${secrets.length} secrets: ${secrets.map((one) => one.name).join(', ')}\n`);
  if (!flags.wait || made === null) return EXIT.ok;
  await waitForRevision(waiting(rest, flags), deployment, made);
  const { url } = await readDeployment(rest, deployment.id);
  print(`${deployment.name} serves at ${url ?? 'no address yet'}\n`);
  return EXIT.ok;
}

function readSecrets(file: string): readonly { readonly name: string; readonly value: string }[] {
  try {
    const variables = parseEnv(readFileSync(file === '-' ? 0 : file, 'utf8'));
    return Object.entries(variables).map(([name, value = '']) => ({ name, value }));
  } catch (error) {
    throw new CommandError('failed', `reading ${file} failed: ${errorText(error)}`, { cause: error });
  }
}
