import { visibleText } from '#lib/command-line';
import { isUuid } from '#lib/resources';
import { RestClient, RestError, timeText } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, print, renderItems, type Shape } from '../output/print-items.js';
import { projectIdOf } from '../rest/find-id.js';

const PATH = '/model-price-map';

/** A price as the REST interface answers it: dollars for a token. */
interface Price {
  readonly id: string;
  readonly name: string;
  readonly match_pattern: string;
  readonly provider: string | null;
  readonly start_time: string | null;
  readonly prompt_cost: string;
  readonly completion_cost: string;
  readonly prompt_cost_details: Readonly<Record<string, string>> | null;
  readonly completion_cost_details: Readonly<Record<string, string>> | null;
  readonly tenant_id: string | null;
  readonly disabled: boolean;
  readonly read_on: string | null;
}

interface Unmatched {
  readonly model: string | null;
  readonly provider: string | null;
  readonly runs: number;
  readonly total_tokens: number;
  readonly last_start_time: string;
}

interface Application {
  readonly id: string;
  readonly status: 'pending' | 'completed';
  readonly reached_time: string | null;
  readonly runs_looked_at: number;
  readonly runs_changed: number;
  readonly runs_without_price: number;
  readonly problem: string | null;
}

/** Dollars for a token as those for a million, without zeros at the end. */
function perMillion(dollars: string): string {
  return (Number(dollars) * 1e6).toFixed(9).replace(/\.?0+$/, '');
}

function kinds(details: Price['prompt_cost_details']): string {
  return Object.entries(details ?? {})
    .map(([kind, dollars]) => `${kind}=${perMillion(dollars)}`)
    .join(',');
}

function originOf({ tenant_id: own, disabled, read_on: readOn }: Price): string {
  const origin = own === null ? `platform, ${readOn ?? ''}` : 'workspace';
  return disabled ? 'disabled' : origin;
}

const PRICES: Shape<Price> = {
  nameOf: ({ id }) => id,
  columns: [
    { heading: 'NAME', cell: ({ name }) => name },
    { heading: 'ID', isWide: true, cell: ({ id }) => id },
    { heading: 'PATTERN', isWide: true, cell: (price) => price.match_pattern },
    { heading: 'PROVIDER', cell: ({ provider }) => provider ?? '' },
    { heading: 'INPUT', cell: (price) => perMillion(price.prompt_cost) },
    { heading: 'COMPLETION', cell: (price) => perMillion(price.completion_cost) },
    { heading: 'INPUT KINDS', isWide: true, cell: (price) => kinds(price.prompt_cost_details) },
    { heading: 'COMPLETION KINDS', isWide: true, cell: (price) => kinds(price.completion_cost_details) },
    { heading: 'FROM', cell: ({ start_time: from }) => (from === null ? '' : timeText(from)) },
    { heading: 'OF', cell: originOf },
  ],
};

const UNMATCHED: Shape<Unmatched> = {
  nameOf: ({ model }) => model ?? '',
  columns: [
    { heading: 'MODEL', cell: ({ model }) => model ?? '' },
    { heading: 'PROVIDER', cell: ({ provider }) => provider ?? '' },
    { heading: 'RUNS', cell: ({ runs }) => String(runs) },
    { heading: 'TOKENS', cell: ({ total_tokens: tokens }) => String(tokens) },
    { heading: 'LAST', cell: ({ last_start_time: last }) => timeText(last) },
  ],
};

const APPLICATIONS: Shape<Application> = {
  nameOf: ({ id }) => id,
  columns: [
    { heading: 'ID', cell: ({ id }) => id },
    { heading: 'STATUS', cell: ({ status }) => status },
    { heading: 'LOOKED AT', cell: (one) => String(one.runs_looked_at) },
    { heading: 'CHANGED', cell: (one) => String(one.runs_changed) },
    { heading: 'WITHOUT PRICE', cell: (one) => String(one.runs_without_price) },
    { heading: 'PROBLEM', cell: ({ problem }) => problem ?? '' },
  ],
};

function openRest(flags: TargetFlags): RestClient {
  return new RestClient(resolveTarget(flags).rest);
}

/** `agentplane prices list`. */
export async function listPrices(
  flags: TargetFlags & { readonly search: string | undefined; readonly output: OutputFormat },
): Promise<void> {
  const query = flags.search === undefined ? '' : `?q=${encodeURIComponent(flags.search)}`;
  const prices = await openRest(flags).request<readonly Price[]>('GET', `${PATH}${query}`);
  process.stdout.write(await renderItems(flags.output, prices, PRICES));
}

/** `agentplane prices unmatched`. */
export async function listUnmatched(
  flags: TargetFlags & {
    readonly project: string | undefined;
    readonly last: number | undefined;
    readonly output: OutputFormat;
  },
): Promise<void> {
  const { project, last, output } = flags;
  const rest = openRest(flags);
  const query = new URLSearchParams();
  if (project !== undefined) query.set('session_id', await projectIdOf(rest, project));
  if (last !== undefined) query.set('start_time', new Date(systemClock.now().getTime() - last).toISOString());
  const models = await rest.request<readonly Unmatched[]>('GET', `${PATH}/unmatched?${query}`);
  process.stdout.write(await renderItems(output, models, UNMATCHED));
}

export interface PriceFlags extends TargetFlags {
  /** Dollars for a million tokens. */
  readonly input: string | undefined;
  readonly completion: string | undefined;
  /** `kind=dollars`. */
  readonly inputKind: readonly string[];
  readonly completionKind: readonly string[];
  readonly pattern: string | undefined;
  readonly provider: string | undefined;
  readonly from: string | undefined;
}

function details(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((text) => {
      const at = text.lastIndexOf('=');
      return [text.slice(0, at), `${text.slice(at + 1)}e-6`];
    }),
  );
}

/** `agentplane prices set NAME`: the id alone on standard output, so that a script can take it. */
export async function setPrice(name: string, flags: PriceFlags): Promise<void> {
  const { input, completion, inputKind, completionKind, pattern, provider, from } = flags;
  if (input === undefined || completion === undefined)
    throw new CommandError(
      'usage',
      'a price needs --input and --completion, in dollars for a million tokens',
    );
  const { id } = await openRest(flags).request<Price>('PUT', PATH, {
    name,
    match_pattern: pattern ?? `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`,
    prompt_cost: `${input}e-6`,
    completion_cost: `${completion}e-6`,
    prompt_cost_details: details(inputKind),
    completion_cost_details: details(completionKind),
    ...(provider === undefined ? {} : { provider }),
    ...(from === undefined ? {} : { start_time: from }),
  });
  print(`${id}\n`);
  process.stderr.write(
    'Runs that are stored keep their costs: "agentplane prices apply" prices them again.\n',
  );
}

/** `agentplane prices remove ID`. */
export async function removePrice(id: string, flags: TargetFlags): Promise<void> {
  const gone = new CommandError(
    'notFound',
    `no price has the id ${id}: "agentplane prices list -o wide" shows ids`,
  );
  if (!isUuid(id)) throw gone;
  try {
    const { message } = await openRest(flags).request<{ readonly message: string }>(
      'DELETE',
      `${PATH}/${id}`,
    );
    process.stderr.write(`${visibleText(message)}.\n`);
  } catch (error) {
    if (error instanceof RestError && error.status === 404) throw gone;
    throw error;
  }
}

const LOOK_MS = 1_000;

/** `agentplane prices apply PROJECT`: waits until it has ended, or has failed for now. */
export async function applyPrices(
  project: string,
  flags: TargetFlags & {
    readonly from: string | undefined;
    readonly to: string | undefined;
    readonly wait: boolean;
    readonly output: OutputFormat;
  },
): Promise<void> {
  const rest = openRest(flags);
  let found = await rest.request<Application>('POST', `${PATH}/apply`, {
    session_id: await projectIdOf(rest, project),
    ...(flags.from === undefined ? {} : { start_time: flags.from }),
    ...(flags.to === undefined ? {} : { end_time: flags.to }),
  });
  while (flags.wait && found.status === 'pending' && found.problem === null) {
    await systemClock.sleep(LOOK_MS);
    found = await rest.request<Application>('GET', `${PATH}/apply/${found.id}`);
  }
  process.stdout.write(await renderItems(flags.output, [found], APPLICATIONS));
}
