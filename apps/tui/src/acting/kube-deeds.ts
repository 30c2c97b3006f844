import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { wholeNumber } from '#lib/command-line';
import { INSTALLATION } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { type KubeClient, type KubeConnection, listenForPod } from '#lib/kube';
import { idOf, keyOf } from '#lib/resources';
import type { RestRequests } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import type { Deeds, Outcome, Suspend } from '../screen/effect-runner.js';
import type { Pane } from '../session/session.js';
import { type PulsePlace, readPulse } from '../texts/look-at-programs.js';
import { openText } from '../texts/open-text.js';
import type { Hands, Right, RowAction } from '../views/common-actions.js';
import type { View } from '../views/view.js';
import type { Item } from '../world/items.js';
import { editObject } from './edit-object.js';
import type { Favourites } from './favourites.js';
import { saveText } from './save-text.js';

/** Does something to rows, one after the other; the first that fails is reported with how many were done. */
async function perform(
  action: RowAction,
  items: readonly Item[],
  answer: string,
  { hands, rights }: { readonly hands: Hands; readonly rights: Rights },
): Promise<Outcome> {
  const { asks } = action;
  const read = asks ? wholeNumber(asks.min, asks.max, `the ${asks.what}`) : () => 0;
  const done: string[] = [];
  for (const item of items) {
    const { namespace, name } = item.metadata;
    if (action.right && !(await rights.isAllowed(action.right, namespace))) {
      const { verb, ref } = action.right;
      return {
        text: `cannot ${action.word} ${name}: this account may not ${verb} ${ref.plural} in ${namespace ?? 'the cluster'}`,
        isProblem: true,
      };
    }
    try {
      done.push(await action.perform(item, hands, read(answer)));
    } catch (error) {
      const before = done.length === 0 ? '' : ` (${done.length} of ${items.length} were done)`;
      return { text: `cannot ${action.word} ${name}: ${errorText(error)}${before}`, isProblem: true };
    }
  }
  const [only = ''] = done;
  return { text: done.length === 1 ? only : `${done.length} done: ${only} …`, isProblem: false };
}

/** Time for which an answer holds. */
const KEPT_MS = 60_000;

interface Known {
  readonly untilMs: number;
  readonly answer: Promise<boolean>;
  /** Undefined until it has come. */
  isAllowed: boolean | undefined;
}

/**
 * Rights of the account, asked with SelfSubjectAccessReviews, each once a minute. A review that fails counts
 * as allowed: the API server decides again when the action is performed.
 */
class Rights {
  readonly #client: Pick<KubeClient, 'raw'>;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(client: Pick<KubeClient, 'raw'>, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** True when it is known to be refused; asks when it is not known. */
  isDenied(right: Right, namespace: string | undefined): boolean {
    return this.#review(right, namespace).isAllowed === false;
  }

  async isAllowed(right: Right, namespace: string | undefined): Promise<boolean> {
    return await this.#review(right, namespace).answer;
  }

  #review(right: Right, namespace: string | undefined): Known {
    const { verb, ref, subresource = '' } = right;
    const key = [verb, ref.group, ref.plural, subresource, namespace ?? ''].join('|');
    const nowMs = this.#clock.monotonicMs();
    const found = this.#known.get(key);
    if (found && nowMs < found.untilMs) return found;
    const known: Known = {
      untilMs: nowMs + KEPT_MS,
      answer: this.#ask(right, namespace).then((isAllowed) => {
        known.isAllowed = isAllowed;
        return isAllowed;
      }),
      isAllowed: found?.isAllowed,
    };
    this.#known.set(key, known);
    return known;
  }

  async #ask({ verb, ref, subresource }: Right, namespace: string | undefined): Promise<boolean> {
    const resourceAttributes = {
      verb,
      group: ref.group,
      resource: ref.plural,
      ...(namespace === undefined ? {} : { namespace }),
      ...(subresource === undefined ? {} : { subresource }),
    };
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    };
    try {
      const answer = await this.#client.raw(
        'POST',
        '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        {
          body,
        },
      );
      return (answer as { readonly status?: { readonly allowed?: boolean } }).status?.allowed !== false;
    } catch {
      return true;
    }
  }
}

const LOOPBACK = { host: '127.0.0.1', port: 0 };
/** The screen would cover the reason of a failure. */
const RUN = '"$@" || { code=$?; printf "\\nEnter goes back to the dashboard. "; read -r _; exit $code; }';

/** Gives the terminal to a command of this program. @returns its exit code; null when a signal ended it */
async function runCommand(words: readonly string[], suspend: Suspend): Promise<number | null> {
  const program = join(INSTALLATION, 'bin', 'agentplane.js');
  let code: number | null = 0;
  await suspend(async () => {
    const child = spawn('/bin/sh', ['-c', RUN, 'sh', process.execPath, program, ...words], {
      stdio: 'inherit',
    });
    [code] = (await once(child, 'exit')) as [number | null];
  });
  return code;
}

export interface KubeDeedsOptions {
  readonly client: KubeClient;
  readonly connection: KubeConnection;
  readonly kubeconfigPath: string;
  readonly favourites: Favourites;
  readonly rest: RestRequests | undefined;
  readonly clock: Clock;
  /** A command line. */
  readonly editor: string;
  readonly openUrl: Hands['openUrl'];
  /** Undefined on a cluster. */
  readonly pulse: PulsePlace | undefined;
  /** Folder of saved texts. */
  readonly folder: string;
  /** Undefined where the platform is named by a context. */
  readonly dataFolder?: string | undefined;
}

/** Actions of the screen, done by the API server and REST. */
export class KubeDeeds implements Deeds {
  readonly #options: KubeDeedsOptions;
  readonly #rights: Rights;
  readonly #hands: Omit<Hands, 'run'>;

  constructor(options: KubeDeedsOptions) {
    const { client, connection, clock, rest, openUrl, favourites } = options;
    this.#options = options;
    this.#rights = new Rights(client, clock);
    const forward: Hands['forward'] = async (pod, port) => {
      // the pod of a forwarded port may end; its connections then do
      const server = await listenForPod(connection, pod, port, LOOPBACK, () => undefined);
      server.unref();
      return `${LOOPBACK.host}:${(server.address() as AddressInfo).port}`;
    };
    const toggleFavourite: Hands['toggleFavourite'] = (namespace) => favourites.toggle(namespace);
    this.#hands = { client, rest, clock, newId: randomUUID, openUrl, forward, toggleFavourite };
  }

  favourites(): readonly string[] {
    return this.#options.favourites.list();
  }

  isDenied(right: Right, namespace: string | undefined): boolean {
    return this.#rights.isDenied(right, namespace);
  }

  async perform(
    view: View,
    name: string,
    items: readonly Item[],
    answer: string,
    suspend: Suspend,
  ): Promise<Outcome> {
    const action = view.actions.find(({ key }) => key === name);
    if (!action || items.length === 0) return { text: 'the row no longer exists', isProblem: true };
    const cluster = ['--kubeconfig', this.#options.kubeconfigPath];
    const run: Hands['run'] = async ([word = '', ...words]) => {
      await runCommand([word, ...cluster, ...words], suspend);
    };
    return await perform(action, items, answer, { hands: { ...this.#hands, run }, rights: this.#rights });
  }

  async edit({ source }: View, [item]: readonly Item[], suspend: Suspend): Promise<Outcome> {
    if (!item || source.kind !== 'kube') return { text: 'the row no longer exists', isProblem: true };
    const { ref } = source;
    const { name, namespace } = item.metadata;
    if (!(await this.#rights.isAllowed({ verb: 'patch', ref }, namespace)))
      return { text: `cannot edit ${name}: this account may not patch ${ref.plural}`, isProblem: true };
    const { client, editor } = this.#options;
    let text = '';
    await suspend(async () => {
      text = await editObject({ client, ref, key: keyOf(item), editor });
    });
    return { text, isProblem: false };
  }

  async chat([item]: readonly Item[], suspend: Suspend): Promise<Outcome> {
    const { rest, dataFolder } = this.#options;
    if (!item) return { text: 'the row no longer exists', isProblem: true };
    if (!rest)
      return {
        text: 'no REST interface is known: start the dashboard with --data or --context',
        isProblem: true,
      };
    const { name } = item.metadata;
    const place = dataFolder === undefined ? [] : ['--data', dataFolder];
    const code = await runCommand(['chat', idOf(item) ?? name, ...place], suspend);
    return { text: `chat with ${name} ended`, isProblem: code !== 0 };
  }

  async save(title: string, lines: readonly string[]): Promise<Outcome> {
    const { clock, folder } = this.#options;
    return { text: `saved to ${await saveText(title, lines, { folder, clock })}`, isProblem: false };
  }

  async *read(
    view: View,
    item: Item | undefined,
    { text, sinceMs, isRaw = false }: Pane,
    signal: AbortSignal,
  ): AsyncGenerator<readonly string[], void, void> {
    if (text === 'pulse') return yield* readPulse(this.#options.pulse, { ...this.#options, signal });
    if (!item) return yield ['it no longer exists'];
    yield* openText(text, view, item, { ...this.#options, signal, sinceMs, isRaw });
  }
}
