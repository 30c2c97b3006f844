import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { errorText } from '#lib/errors';
import { type AgentDeployment, isReservedEnvironment, RESOURCES } from '#lib/resources';
import { RestClient, RestError } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { qualifiedName } from '../objects/find-object.js';
import { type OutputFormat, print, renderItems, type Shape } from '../output/print-items.js';
import { type Deployment, readDeployment } from '../rollout/revisions.js';
import { untilServing, type WaitFlags } from '../rollout/rollout-command.js';

/** A secret as it is sent: without a value the one that it has is kept. */
interface Secret {
  readonly name: string;
  readonly value?: string;
}

interface WithSecrets extends Deployment {
  readonly generation: number;
  readonly secrets: readonly Secret[];
}

const SHAPE: Shape<Secret> = {
  nameOf: ({ name }) => name,
  columns: [{ heading: 'NAME', cell: ({ name }) => name }],
};

/** `agentplane secrets list NAME`. */
export async function listSecrets(
  name: string,
  { output, ...flags }: TargetFlags & { readonly output: OutputFormat },
): Promise<void> {
  const rest = new RestClient(resolveTarget(flags).rest);
  const { secrets } = (await readDeployment(rest, name)) as WithSecrets;
  process.stdout.write(
    await renderItems(
      output,
      secrets.map((one) => ({ name: one.name })),
      SHAPE,
    ),
  );
}

export interface SecretFlags extends WaitFlags {
  readonly file: string | undefined;
}

/** `agentplane secrets set NAME A=value … -f FILE`: the others stay. */
export async function setSecrets(
  [name = '', ...pairs]: readonly string[],
  { file, ...flags }: SecretFlags,
): Promise<void> {
  const given = [...(file === undefined ? [] : readSecrets(file)), ...pairs.map(pairOf)];
  if (given.length === 0 && file !== undefined)
    return print(`Nothing was changed: ${file === '-' ? 'standard input' : file} has no line NAME=value\n`);
  if (given.length === 0)
    throw new CommandError(
      'usage',
      'secrets set needs NAME=value, or lines of them: -f FILE, or -f - for standard input',
    );
  await change(name, flags, withValues(given));
}

/** Adds secrets or changes their values; the others stay. */
function withValues(given: readonly Secret[]): (present: readonly Secret[]) => readonly Secret[] {
  const values = new Map(given.map((one) => [one.name, one]));
  return (present) => [...present.filter((one) => !values.has(one.name)), ...values.values()];
}

export interface SecretDeployFlags extends WaitFlags {
  readonly image: string | undefined;
  /** Source of a deployment that does not exist yet. */
  readonly source: AgentDeployment['spec']['source'];
  readonly secrets: string;
}

/** `agentplane deploy NAME --secrets FILE`: image and secrets in one revision; secrets that the file does not have stay. */
export async function deployWithSecrets(
  name: string,
  { image, source, secrets: file, ...flags }: SecretDeployFlags,
): Promise<void> {
  const secrets = withoutReserved(readSecrets(file));
  const rest = new RestClient(resolveTarget(flags).rest);
  const found = await readDeployment(rest, name).catch((error: unknown) => {
    if (error instanceof CommandError && error.exit === 'notFound') return undefined;
    throw error;
  });
  if (found) return change(name, flags, withValues(secrets), image);
  const made = await rest.request<Deployment>('POST', '/v2/deployments', {
    name,
    source,
    source_config: {},
    source_revision_config: { image_uri: image ?? name },
    secrets,
  });
  print(`${qualifiedName(RESOURCES.AgentDeployment, name)} created\n`);
  print(`${name}: ${changeText([], secrets)}\n`);
  await untilServing(rest, made, made.latest_revision_id, flags);
}

/** `agentplane secrets unset NAME A …`. @throws CommandError `notFound` for one that is not set */
export async function unsetSecrets(
  [name = '', ...names]: readonly string[],
  flags: WaitFlags,
): Promise<void> {
  await change(name, flags, (present) => {
    const missing = names.find((one) => !present.some((secret) => secret.name === one));
    if (missing !== undefined)
      throw new CommandError(
        'notFound',
        `deployment ${name} has no secret ${missing}: "agentplane secrets list ${name}" lists them`,
      );
    return present.filter((one) => !names.includes(one.name));
  });
}

/** `agentplane secrets replace NAME -f FILE [--yes]`: those that are not in the file go. */
export async function replaceSecrets(
  name: string,
  { file, yes, ...flags }: SecretFlags & { readonly yes: boolean },
): Promise<void> {
  if (file === undefined)
    throw new CommandError('usage', 'secrets replace needs a file of NAME=value lines: -f FILE, or -f -');
  const secrets = readSecrets(file);
  await change(name, flags, (present) => {
    const removed = present.filter((one) => !secrets.some((secret) => secret.name === one.name));
    if (removed.length > 0 && !yes)
      throw new CommandError('usage', `Nothing was changed. --yes removes ${namesOf(removed)} from ${name}`);
    return secrets;
  });
}

/** Sends the secrets that a deployment is to have, after printing what changes; another change in between is refused. */
async function change(
  name: string,
  flags: WaitFlags,
  decide: (present: readonly Secret[]) => readonly Secret[],
  image?: string,
): Promise<void> {
  const rest = new RestClient(resolveTarget(flags).rest);
  const deployment = (await readDeployment(rest, name)) as WithSecrets;
  const present = deployment.secrets.map((one) => ({ name: one.name }));
  const secrets = decide(present);
  print(`${deployment.name}: ${changeText(present, secrets)}\n`);
  const path = `/v2/deployments/${deployment.id}`;
  const source = image === undefined ? {} : { source_revision_config: { image_uri: image } };
  const unchanged = { 'if-match': `"g${deployment.generation}"` };
  const { latest_revision_id: made } = await rest
    .request<Deployment>('PATCH', path, { secrets, ...source }, unchanged)
    .catch((error: unknown) => {
      if (!(error instanceof RestError) || error.status !== 412) throw error;
      throw new CommandError(
        'failed',
        `deployment ${name} was changed meanwhile: nothing was changed, try again`,
      );
    });
  await untilServing(rest, deployment, made, flags);
}

function changeText(before: readonly Secret[], after: readonly Secret[]): string {
  const was = (name: string): boolean => before.some((one) => one.name === name);
  const parts = [
    ['added', after.filter(({ name }) => !was(name))],
    ['changed', after.filter(({ name, value }) => was(name) && value !== undefined)],
    ['removed', before.filter(({ name }) => !after.some((one) => one.name === name))],
  ] as const;
  const shown = parts.filter(([, secrets]) => secrets.length > 0);
  const changes = shown.map(([word, secrets]) => `${word}: ${namesOf(secrets)}`).join('; ');
  return `${changes || 'nothing changes'}. Its secrets are now: ${namesOf(after) || 'none'}`;
}

function namesOf(secrets: readonly Secret[]): string {
  return secrets.map(({ name }) => name).join(', ');
}

function pairOf(text: string): Secret {
  const at = text.indexOf('=');
  if (at < 1) throw new CommandError('usage', `${text} is not of the form NAME=value`);
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

/** Variables that an agent's `.env` often has for `dev`, and that the platform sets itself, are left out. */
function withoutReserved(secrets: readonly Secret[]): readonly Secret[] {
  for (const { name } of secrets)
    if (isReservedEnvironment(name)) process.stderr.write(`${name} is left out: the platform sets it\n`);
  return secrets.filter(({ name }) => !isReservedEnvironment(name));
}

function readSecrets(file: string): readonly Secret[] {
  try {
    const variables = parseEnv(readFileSync(file === '-' ? 0 : file, 'utf8'));
    return Object.entries(variables).map(([name, value = '']) => ({ name, value }));
  } catch (error) {
    throw new CommandError('failed', `reading ${file} failed: ${errorText(error)}`, { cause: error });
  }
}
