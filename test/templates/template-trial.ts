import { readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { isJsonObject } from '#lib/json';
import { RESOURCES, SECRETS } from '#lib/resources';
import type { FakeModels } from '../../apps/cli/src/check/fake-models.js';
import { missingIn, namedKeys } from '../../apps/cli/src/check/check-command.js';
import { inputOf } from '../../apps/cli/src/check/tried-agent.js';
import { agentplane } from '../cli/agentplane.js';
import type { Platform } from '../support/platform.js';

/** The end of one trial. */
export interface Trial {
  readonly folder: string;
  readonly deploys: boolean;
  readonly answers: boolean;
  /** Variables that were given a made-up value. */
  readonly variables: readonly string[];
  /** The reason why it does not deploy or answer; empty for one that does. */
  readonly trouble: string;
  /** Remarks of `image add`. */
  readonly notes: readonly string[];
}

/** Names of variables turn up one after another. */
const MAX_ROUNDS = 6;
const ADD_MS = 1_200_000;
const LEFT_OUT = new Set(['node_modules', '.venv', '.git', 'dist']);

/** Folders with a `langgraph.json`, at any depth. */
export function* agentFolders(root: string): Generator<string> {
  const entries = readdirSync(root, { withFileTypes: true });
  if (entries.some((entry) => entry.isFile() && entry.name === 'langgraph.json')) yield root;
  for (const entry of entries)
    if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) yield* agentFolders(join(root, entry.name));
}

function madeUp(name: string, models: FakeModels): string {
  if (/_(URL|URI|ENDPOINT|BASE)$/.test(name)) return models.url;
  if (/_PORT$/.test(name)) return '1';
  return name.startsWith('ANTHROPIC') ? 'sk-ant-made-up' : 'sk-made-up';
}

/** Adds an agent to a platform, deploys it, looks at it and runs each of its graphs once. */
export class TemplateTrial {
  readonly #name: string;
  readonly #variables = new Map<string, string>();
  #notes: readonly string[] = [];

  constructor(
    private readonly root: string,
    private readonly folder: string,
    private readonly place: {
      readonly platform: Platform;
      readonly models: FakeModels;
      readonly scratch: string;
    },
    number: number,
  ) {
    this.#name = `template-${number}`;
    for (const { name } of namedKeys(folder)) this.#give(name);
  }

  async perform(): Promise<Trial> {
    const { dataFolder } = this.place.platform;
    const words = ['image', 'add', this.#name, this.folder, '--data', dataFolder];
    const added = await agentplane(words, { timeoutMs: ADD_MS });
    this.#notes = added.complaint.split('\n').filter((line) => line.startsWith('Note: '));
    if (added.code !== 0)
      return this.#end({ trouble: added.complaint.trim().split('\n').slice(-12).join(' ') });
    try {
      return await this.#withVariables();
    } finally {
      await this.#withKube((kube) =>
        kube.delete(RESOURCES.AgentDeployment, { namespace: 'ws-default', name: this.#name }),
      );
    }
  }

  /** Again with each variable that a failure names. */
  async #withVariables(): Promise<Trial> {
    let ended = this.#end({});
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const deployed = await this.#deploy();
      ended =
        'trouble' in deployed
          ? this.#end(deployed)
          : this.#end({ deploys: true, ...(await this.#ask(deployed.url)) });
      const missing = missingIn(ended.trouble).filter((name) => !this.#variables.has(name));
      if (ended.answers || missing.length === 0) break;
      for (const name of missing) this.#give(name);
    }
    return ended;
  }

  #give(name: string): void {
    this.#variables.set(name, madeUp(name, this.place.models));
  }

  #end(found: Partial<Trial>): Trial {
    const folder = relative(this.root, this.folder) || '.';
    const variables = [...this.#variables.keys()];
    return { deploys: false, answers: false, trouble: '', ...found, folder, variables, notes: this.#notes };
  }

  async #withKube<T>(act: (kube: KubeClient) => Promise<T>): Promise<T> {
    const { kubeconfig: kubeconfigPath } = this.place.platform.credentials;
    const kube = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'test' });
    try {
      return await act(kube);
    } finally {
      await kube.close();
    }
  }

  async #deploy(): Promise<{ readonly url: string } | { readonly trouble: string }> {
    const { platform, models, scratch } = this.place;
    const name = `${this.#name}-keys-${this.#variables.size}`;
    const stringData = { ...models.environment, ...Object.fromEntries(this.#variables) };
    const data = Object.fromEntries(
      Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    );
    await this.#withKube((kube) =>
      kube.apply(SECRETS, { metadata: { namespace: 'ws-default', name }, data }),
    );
    const manifest = join(scratch, `${this.#name}.json`);
    writeFileSync(
      manifest,
      JSON.stringify({
        apiVersion: 'agentplane.dev/v1alpha1',
        kind: 'AgentDeployment',
        metadata: { name: this.#name },
        spec: {
          source: 'internal_image',
          sourceRevisionConfig: { imageUri: this.#name },
          secretsRef: { name },
        },
      }),
    );
    const words = ['deploy', '-f', manifest, '--timeout', '4m', '--data', platform.dataFolder];
    const { code, output, complaint } = await agentplane(words, { timeoutMs: 300_000 });
    const url = /serves at (\S+)/.exec(output)?.[1];
    if (code === 0 && url !== undefined) return { url };
    return { trouble: complaint.trim().split('\n').slice(-3).join(' ') };
  }

  /** Drawing, schemas and a run of each graph; the first trouble counts. */
  async #ask(apiUrl: string): Promise<Pick<Trial, 'answers' | 'trouble'>> {
    const client = new Client({
      apiUrl,
      apiKey: this.place.platform.credentials.apiKey,
      callerOptions: { maxRetries: 0 },
    });
    const troubles: string[] = [];
    for (const { graph_id: graph, assistant_id: id } of await client.assistants.search({ limit: 100 })) {
      const trouble = await this.#run(client, id).catch((error: unknown) => String(error));
      if (trouble !== undefined) troubles.push(`${graph}: ${trouble}`);
      else return { answers: true, trouble: '' };
    }
    return { answers: false, trouble: troubles.join('; ').slice(0, 1_500) };
  }

  async #run(client: Client, assistant: string): Promise<string | undefined> {
    const [{ nodes }, schemas] = await Promise.all([
      client.assistants.getGraph(assistant),
      client.assistants.getSchemas(assistant),
    ]);
    if (nodes.length === 0) return 'its drawing is empty';
    const { thread_id: thread } = await client.threads.create();
    const input = inputOf(schemas.input_schema);
    const values = await client.runs.wait(thread, assistant, {
      input,
      config: { recursion_limit: 25 },
      raiseError: false,
    });
    const error: unknown = isJsonObject(values) ? values['__error__'] : undefined;
    if (isJsonObject(error)) return `${String(error['error'])}: ${String(error['message'])}`.slice(0, 400);
    const { status } = await client.threads.get(thread);
    if (status !== 'idle' && status !== 'interrupted') return `its thread is ${status}`;
    const state = await client.threads.getState(thread);
    return Object.keys(state.values ?? {}).length > 0 || status === 'interrupted'
      ? undefined
      : 'its state is empty';
  }
}

/** The table of a report. */
export function renderTrials(trials: readonly Trial[]): string {
  const word = (is: boolean): string => (is ? 'yes' : 'NO');
  const width = Math.max(6, ...trials.map(({ folder }) => folder.length));
  const rows = trials.map(({ folder, deploys, answers, variables, trouble, notes }) =>
    [
      `${folder.padEnd(width)}  ${word(deploys).padEnd(7)}  ${word(answers).padEnd(7)}  ${variables.join(', ') || '-'}`,
      ...(trouble === '' ? [] : [`    ${trouble.replaceAll(/\s+/g, ' ')}`]),
      ...notes.map((note) => `    ${note}`),
    ].join('\n'),
  );
  const count = (is: (trial: Trial) => boolean): number => trials.filter(is).length;
  return [
    `${'FOLDER'.padEnd(width)}  DEPLOYS  ANSWERS  MISSING (a made-up value was given)`,
    ...rows,
    `${trials.length} agents: ${count(({ deploys }) => deploys)} deploy, ${count(({ answers }) => answers)} answer`,
    '',
  ].join('\n');
}
