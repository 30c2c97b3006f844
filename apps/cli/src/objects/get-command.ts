import { renderTable } from '#lib/command-line';
import { EXIT } from '#lib/lifecycle';
import type { Untyped } from '#lib/kube';
import { CommandError } from '../command-error.js';
import { type KubeAccess, withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, renderDocument } from '../output/print-items.js';
import { findKind, findKinds, type Kind } from './find-kind.js';
import { findObject, parseObjectWords } from './find-object.js';
import { fetchTable, nameLine, withoutManagers } from './table-answer.js';
import { watchObjects } from './watch-objects.js';

export interface GetFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
  readonly selector: string | undefined;
  readonly watch: boolean;
  /** The most of each kind. */
  readonly limit: number | undefined;
  readonly output: OutputFormat;
}

/** `agentplane get KIND[,KIND…] [NAME]`. */
export async function getObjects(words: readonly string[], flags: GetFlags): Promise<number> {
  return await withKube(resolveTarget(flags), async (kube) => {
    const { kind: word, name } = parseObjectWords(words);
    if (name !== undefined && flags.selector !== undefined)
      throw new CommandError('usage', '--selector and a name were given: use one of them');
    if (flags.watch) return await watchKind(kube, word, name, flags);
    const text =
      name === undefined
        ? await renderLists(kube, await findKinds(kube.client, word.split(',')), flags)
        : await renderOne(kube, await findKind(kube.client, word), name, flags);
    process.stdout.write(text);
    return EXIT.ok;
  });
}

async function watchKind(
  kube: KubeAccess,
  word: string,
  name: string | undefined,
  { output, selector, limit, ...flags }: GetFlags,
): Promise<number> {
  if (word.includes(','))
    throw new CommandError(
      'usage',
      `--watch follows one kind, and ${word} names several: start one for each`,
    );
  const kind = await findKind(kube.client, word);
  const namespace = namespaceOf(kube, flags);
  if (name === undefined)
    return await watchObjects(kube.client, { kind, namespace, name, selector, limit }, output);
  const { metadata } = await findObject(kube.client, kind, name, { namespace });
  const one = { kind, namespace: metadata.namespace, name: metadata.name, selector, limit };
  return await watchObjects(kube.client, one, output);
}

/** The namespace that flags mean; undefined: all. */
export function namespaceOf(
  { connection }: KubeAccess,
  { namespace, allNamespaces }: { readonly namespace: string | undefined; readonly allNamespaces?: boolean },
): string | undefined {
  return allNamespaces ? undefined : (namespace ?? connection.namespace);
}

async function renderOne(kube: KubeAccess, kind: Kind, name: string, flags: GetFlags): Promise<string> {
  const { output } = flags;
  const object = await findObject(kube.client, kind, name, { namespace: namespaceOf(kube, flags) });
  switch (output.kind) {
    case 'table':
    case 'wide': {
      const table = await fetchTable(kube.client, {
        kind,
        selector: undefined,
        isWide: output.kind === 'wide',
        name: object.metadata.name,
        namespace: object.metadata.namespace,
      });
      return table ? renderTable(table.headings, table.rows) : '';
    }
    case 'name':
      return nameLine(kind, object);
    case 'json':
    case 'yaml':
    case 'jsonpath':
      return await renderDocument(output, withoutManagers(object));
    default:
      return output satisfies never;
  }
}

/** Renders several kinds one below the other, or in one list. */
async function renderLists(kube: KubeAccess, kinds: readonly Kind[], flags: GetFlags): Promise<string> {
  const { output, selector, limit } = flags;
  const namespace = namespaceOf(kube, flags);
  switch (output.kind) {
    case 'table':
    case 'wide': {
      const isWide = output.kind === 'wide';
      const tables: string[] = [];
      for (const kind of kinds) {
        const all = { kind, namespace, name: undefined, selector, isWide, limit };
        const table = await fetchTable(kube.client, all);
        if (kind.kind === 'Deployment' && kind.group === 'apps')
          process.stderr.write(
            'Note: these are Deployments of Kubernetes; "agentplane get adep" lists agents.\n',
          );
        if (table !== undefined) tables.push(renderTable(table.headings, table.rows));
        else process.stderr.write(`No ${kind.plural} found${placeText(kind, namespace)}.\n`);
      }
      return tables.join('\n');
    }
    case 'name':
      return (await listAll(kube, kinds, flags)).map(([kind, object]) => nameLine(kind, object)).join('');
    case 'json':
    case 'yaml':
    case 'jsonpath': {
      const items = (await listAll(kube, kinds, flags)).map(([, object]) => withoutManagers(object));
      return await renderDocument(output, { apiVersion: 'v1', kind: 'List', items });
    }
    default:
      return output satisfies never;
  }
}

async function listAll(
  kube: KubeAccess,
  kinds: readonly Kind[],
  flags: GetFlags,
): Promise<readonly (readonly [Kind, Untyped])[]> {
  const namespace = namespaceOf(kube, flags);
  const lists = await Promise.all(
    kinds.map(async (kind) => {
      const { items } = await kube.client.list(kind, {
        ...(namespace === undefined || !kind.namespaced ? {} : { namespace }),
        ...(flags.selector === undefined ? {} : { labelSelector: flags.selector }),
      });
      return items.slice(0, flags.limit).map((item) => [kind, item] as const);
    }),
  );
  return lists.flat();
}

function placeText({ namespaced }: Kind, namespace: string | undefined): string {
  return namespaced && namespace !== undefined ? ` in namespace ${namespace}` : '';
}
