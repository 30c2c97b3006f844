import { renderTable, visibleText } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { isNotFound, KubeApiError, type KubeClient, KubeUnreachableError, type Untyped } from '#lib/kube';
import { type Clock, systemClock } from '#lib/time';
import { type OutputFormat, print, renderDocument } from '../output/print-items.js';
import type { Kind } from './find-kind.js';
import { type FetchedTable, fetchTable, nameLine, withoutManagers } from './table-answer.js';

const PAUSE_MS = 2_000;

/** Target of a watch: a list, or one object of it. */
export interface Watched {
  readonly kind: Kind;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly selector: string | undefined;
  /** Maximum number of existing objects shown at the start. */
  readonly limit: number | undefined;
}

/**
 * Prints the existing objects, then every object again whenever it has changed, over breaks of the
 * connection; ends with the process. An error of the first request is thrown.
 */
export async function watchObjects(
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
      const table = await fetchTable(client, { kind, ...one, isWide, isQualified }).catch(unlessMissing);
      if (table) write(table);
    }
  };
}

/** An object may be deleted before it is read. */
function unlessMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
