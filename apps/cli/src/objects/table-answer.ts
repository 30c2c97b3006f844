import { collectionPath, type KubeClient, objectPath, type Untyped } from '#lib/kube';
import type { Kind } from './find-kind.js';

/** kubectl leaves `managedFields` out, too. */
export function withoutManagers(object: Untyped): object {
  const { managedFields: _, ...metadata } = { managedFields: undefined, ...object.metadata };
  return { ...object, metadata };
}

/** `bulkexport.agentplane.dev/NAME`, as kubectl prints it. */
export function nameOf({ singular, group }: Kind, name: string): string {
  return `${singular}${group === '' ? '' : `.${group}`}/${name}`;
}

/** The same as a line. */
export function nameLine(kind: Kind, { metadata }: Untyped): string {
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
export interface TableRequest {
  readonly kind: Kind;
  /** Undefined: of all namespaces. */
  readonly namespace: string | undefined;
  /** One object alone. */
  readonly name: string | undefined;
  readonly selector: string | undefined;
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
export async function fetchTable(
  client: KubeClient,
  request: TableRequest,
): Promise<FetchedTable | undefined> {
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
