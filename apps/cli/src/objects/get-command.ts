import { renderTable, visibleText } from '#lib/command-line';
import { EXIT } from '#lib/lifecycle';
import {
  collectionPath,
  isNotFound,
  KubeApiError,
  type KubeClient,
  KubeUnreachableError,
  objectPath,
  type Untyped,
} from '#lib/kube';
import { errorText, unless } from '#lib/errors';
import { type Clock, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { type KubeAccess, withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, print, renderDocument } from '../output/print-items.js';
import { findKind, findKinds, findObject, type Kind, parseObjectWords } from './find-object.js';

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

/** kubectl leaves `managedFields` out, too. */
function withoutManagers(object: Untyped): object {
  const { managedFields: _, ...metadata } = { managedFields: undefined, ...object.metadata };
  return { ...object, metadata };
}

/** `bulkexport.agentplane.dev/NAME`, as kubectl prints it. */
export function nameOf({ singular, group }: Kind, name: string): string {
  return `${singular}${group === '' ? '' : `.${group}`}/${name}`;
}

/** The same as a line. */
function nameLine(kind: Kind, { metadata }: Untyped): string {
  return `${nameOf(kind, metadata.name)}\n`;
}

const ACCEPT = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

const PAGE = 500;

/** The parts of Kubernetes' `Table` that are printed. */
interface TableAnswer {
  readonly columnDefinitions?: readonly { readonly name: string; readonly priority?: number }[];
  readonly rows?: readonly {
    readonly cells: readonly unknown[];
    readonly object?: { readonly metadata?: { readonly name?: string; readonly namespace?: string } };
  }[];
  readonly metadata?: { readonly continue?: string };
}

/** Selection of the objects that a table shows. */
export interface TableRequest extends Omit<Watched, 'limit'> {
  readonly isWide: boolean;
  /** The most rows; undefined: all. */
  readonly limit?: number | undefined;
  /** True when rows begin with their namespace; by default those of several namespaces do. */
  readonly isQualified?: boolean;
}

/** Content of a table before its layout. */
export interface FetchedTable {
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Objects as the API server tabulates them, so that the columns are those of `kubectl get`; undefined: there are none. */
async function fetchTable(client: KubeClient, request: TableRequest): Promise<FetchedTable | undefined> {
  const { kind, namespace, name, isWide } = request;
  const pages = await fetchPages(client, request);
  const definitions = pages[0]?.columnDefinitions ?? [];
  const shown = definitions.flatMap(({ priority = 0 }, at) => (isWide || priority === 0 ? [at] : []));
  const { isQualified = kind.namespaced && namespace === undefined && name === undefined } = request;
  const rows = pages
    .flatMap((page) => page.rows ?? [])
    .slice(0, request.limit)
    .map(({ cells, object }) => [
      ...(isQualified ? [object?.metadata?.namespace ?? ''] : []),
      ...shown.map((at) => cellText(cells[at])),
    ]);
  if (rows.length === 0) return undefined;
  const headings = shown.map((at) => (definitions[at]?.name ?? '').toUpperCase());
  return { headings: [...(isQualified ? ['NAMESPACE'] : []), ...headings], rows };
}

async function fetchPages(
  client: KubeClient,
  { kind, namespace, name, selector, limit = Infinity }: TableRequest,
): Promise<readonly TableAnswer[]> {
  const scope = kind.namespaced ? namespace : undefined;
  if (name !== undefined) {
    const key = scope === undefined ? { name } : { name, namespace: scope };
    return [(await client.raw('GET', objectPath(kind, key), { accept: ACCEPT })) as TableAnswer];
  }
  const pages: TableAnswer[] = [];
  let token: string | undefined;
  let left = limit;
  do {
    const page = (await client.raw('GET', collectionPath(kind, scope), {
      accept: ACCEPT,
      query: { limit: Math.min(PAGE, left), labelSelector: selector, continue: token },
    })) as TableAnswer;
    pages.push(page);
    token = page.metadata?.continue || undefined;
    left -= page.rows?.length ?? 0;
  } while (token !== undefined && left > 0);
  return pages;
}

/** Text of one line: a cell with several lines is cut as kubectl cuts it. */
function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell);
  const [line = '', ...more] = text.split('\n');
  return more.length > 0 ? `${line}...` : line;
}

const PAUSE_MS = 2_000;

/** Target of a watch: a list, or one object of it. */
export interface Watched {
  readonly kind: Kind;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  /** One object alone. */
  readonly name: string | undefined;
  readonly selector: string | undefined;
  /** Maximum number of existing objects shown at the start. */
  readonly limit: number | undefined;
}

/**
 * Prints the existing objects, then every object again whenever it has changed, over breaks of the
 * connection; ends with the process. An error of the first request is thrown.
 */
async function watchObjects(
  client: KubeClient,
  watched: Watched,
  output: OutputFormat,
  clock: Clock = systemClock,
): Promise<number> {
  const { kind, namespace, name, selector } = watched;
  const selection = {
    ...(namespace === undefined || !kind.namespaced ? {} : { namespace }),
    ...(selector === undefined ? {} : { labelSelector: selector }),
    ...(name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }),
  };
  const printed = new Map<string, string | undefined>();
  const show = printerOf(client, watched, output);
  const showNew = async (objects: readonly Untyped[]): Promise<void> => {
    const fresh = objects.filter(
      ({ metadata }) => printed.get(metadata.uid ?? '') !== metadata.resourceVersion,
    );
    await show(fresh);
    for (const { metadata } of fresh) printed.set(metadata.uid ?? '', metadata.resourceVersion);
  };
  let state: 'beginning' | 'answering' | 'unreachable' = 'beginning';
  for (;;) {
    try {
      const { items, resourceVersion } = await client.list<Untyped>(kind, selection);
      await showNew(state === 'beginning' ? items.slice(0, watched.limit) : items);
      for (const { metadata } of items) printed.set(metadata.uid ?? '', metadata.resourceVersion);
      state = 'answering';
      for await (const event of client.watch<Untyped>(kind, { ...selection, resourceVersion })) {
        if (event.type === 'DELETED') {
          printed.delete(event.object.metadata.uid ?? '');
          process.stderr.write(visibleText(`${nameLine(kind, event.object).trimEnd()} deleted\n`));
        } else if (event.type !== 'BOOKMARK') await showNew([event.object]);
      }
    } catch (error) {
      if (state === 'beginning' || !isPassing(error)) throw error;
      if (state === 'answering') process.stderr.write(visibleText(`${errorText(error)}; trying again\n`));
      state = 'unreachable';
      await clock.sleep(PAUSE_MS);
    }
  }
}

/**
 * True when the same request may succeed a little later: no answer, an overloaded server, an expired version.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof KubeUnreachableError) return true;
  return error instanceof KubeApiError && (error.code >= 500 || error.code === 410 || error.code === 429);
}

function printerOf(
  client: KubeClient,
  watched: Watched,
  output: OutputFormat,
): (objects: readonly Untyped[]) => Promise<void> {
  switch (output.kind) {
    case 'table':
    case 'wide':
      return tablePrinter(client, watched, output.kind === 'wide');
    case 'name':
      return async (objects) => print(objects.map((object) => nameLine(watched.kind, object)).join(''));
    case 'json':
    case 'yaml':
    case 'jsonpath':
      return async (objects) => {
        for (const object of objects) {
          const text = await renderDocument(output, withoutManagers(object));
          process.stdout.write(output.kind === 'yaml' ? `---\n${text}` : text);
        }
      };
    default:
      return output satisfies never;
  }
}

/** Rows as the API server makes them, below the headings of the first; columns grow and never shrink. */
function tablePrinter(
  client: KubeClient,
  watched: Watched,
  isWide: boolean,
): (objects: readonly Untyped[]) => Promise<void> {
  const { kind, namespace } = watched;
  const isQualified = kind.namespaced && namespace === undefined;
  let widths: readonly number[] | undefined;
  const write = ({ headings, rows }: FetchedTable): void => {
    const before = widths;
    widths = headings.map((heading, at) =>
      Math.max(heading.length, before?.[at] ?? 0, ...rows.map((row) => row[at]?.length ?? 0)),
    );
    // a row of blanks keeps the columns in their places
    const blanks = widths.map((width) => ' '.repeat(width));
    const [head = '', , ...lines] = renderTable(headings, [blanks, ...rows]).split('\n');
    print([...(before ? [] : [head]), ...lines].join('\n'));
  };
  return async (objects) => {
    if (widths === undefined && objects.length > 0) {
      const table = await fetchTable(client, { ...watched, isWide, isQualified });
      if (table) write(table);
      return;
    }
    for (const { metadata } of objects) {
      const one = { name: metadata.name, namespace: metadata.namespace, selector: undefined };
      // an object may be deleted before it is read
      const table = await fetchTable(client, { kind, ...one, isWide, isQualified }).catch(unless(isNotFound));
      if (table) write(table);
    }
  };
}
