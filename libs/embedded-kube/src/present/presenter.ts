import {
  apiVersionOf,
  badRequest,
  inVersion,
  type KubeObject,
  type ServedType,
  type TableKind,
  tableOf,
} from '#lib/kube-semantics';
import type { AnswerFormat } from '../http/request-body.js';
import { type StoredObject, storedVersion } from '../store/stored-object.js';

/** `metadata` of a list. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** Object to include beside the cells of each table row. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

/** Writes objects of one served type in the format a request asked for. Answers are JSON texts. */
export class Presenter {
  readonly #table: TableKind | undefined;
  readonly #apiVersion: string;

  constructor(
    private readonly served: ServedType,
    private readonly format: AnswerFormat,
    private readonly includeObject: IncludeObject,
    private readonly now: () => Date,
    /** Leaves out who wrote what, in answers about one object: it is often half of it. */
    private readonly omitsManagers = false,
  ) {
    this.#table = format.kind === 'table' ? tableOf(served) : undefined;
    this.#apiVersion = apiVersionOf(served.type.group, served.version.name);
  }

  /** One object. */
  one(object: KubeObject): string {
    const full = inVersion(object, this.#apiVersion);
    const shown = this.omitsManagers ? withoutManagers(full) : full;
    if (this.#table)
      return this.#tableText(
        this.#table,
        { resourceVersion: shown.metadata.resourceVersion ?? '' },
        [shown],
        true,
      );
    if (this.format.kind === 'metadata') return JSON.stringify(this.#metadataOnly(shown));
    return JSON.stringify(shown);
  }

  /** One stored object; its JSON is reused when it is to be shown as it is stored. */
  stored(stored: StoredObject): string {
    return this.#isAsStored(stored) ? stored.json : this.one(stored.object);
  }

  /** True when watches are shown the stored JSON: no object is parsed for them. */
  get showsStored(): boolean {
    return this.format.kind === 'object' && !this.omitsManagers;
  }

  /** A list, item by item: nothing of it is made before it is asked for. */
  *list(items: readonly StoredObject[], meta: ListMeta): Generator<string> {
    if (this.#table) {
      const empty = this.#tableText(this.#table, meta, [], true);
      yield empty.slice(0, -']}'.length);
      for (const [at, { object }] of items.entries()) {
        const row = this.#row(this.#table, inVersion(object, this.#apiVersion), this.now());
        yield (at === 0 ? '' : ',') + JSON.stringify(row);
      }
      yield ']}';
      return;
    }
    const isMetadata = this.format.kind === 'metadata';
    const kind = isMetadata ? 'PartialObjectMetadataList' : this.served.type.listKind;
    const apiVersion = isMetadata ? `meta.k8s.io/${this.format.version}` : this.#apiVersion;
    yield `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":${JSON.stringify(meta)},"items":[`;
    for (const [at, item] of items.entries()) {
      if (at > 0) yield ',';
      // most items are text alone, and stay that
      yield this.#isInVersion(item) ? item.json : this.one(item.object);
    }
    yield ']}';
  }

  /**
   * Key of the form in which `eventObject` shows an object, where that takes time: presenters of equal forms
   * make equal texts of it. Undefined when its JSON is used unchanged.
   */
  formOf(stored: StoredObject, isFirst: boolean): string | undefined {
    if (this.#isAsStored(stored)) return undefined;
    const version = this.format.kind === 'object' ? '' : this.format.version;
    const second = Math.floor(this.now().getTime() / 1000); // tables show ages in seconds
    const table = this.#table ? [this.includeObject, isFirst, second] : [];
    return [this.#apiVersion, this.format.kind, version, this.omitsManagers, ...table].join(' ');
  }

  /** The object of an event of a watch. Only the first table of a watch carries its columns. */
  eventObject(stored: StoredObject, isFirst: boolean): string {
    if (!this.#table) return this.stored(stored);
    return this.#tableText(
      this.#table,
      { resourceVersion: String(stored.revision) },
      [inVersion(stored.object, this.#apiVersion)],
      isFirst,
    );
  }

  /** A bookmark: the resource version the watch has reached. */
  bookmark(revision: number, annotations?: Readonly<Record<string, string>>): string {
    const object: KubeObject = {
      kind: this.served.type.kind,
      apiVersion: this.#apiVersion,
      metadata: {
        resourceVersion: String(revision),
        creationTimestamp: null,
        ...(annotations ? { annotations } : {}),
      },
    };
    const text = this.#table
      ? this.#tableText(this.#table, { resourceVersion: String(revision) }, [object], false)
      : JSON.stringify(this.format.kind === 'metadata' ? this.#metadataOnly(object) : object);
    return `{"type":"BOOKMARK","object":${text}}\n`;
  }

  #isAsStored(stored: StoredObject): boolean {
    return !this.omitsManagers && this.#isInVersion(stored);
  }

  #isInVersion(stored: StoredObject): boolean {
    return this.format.kind === 'object' && storedVersion(stored) === this.#apiVersion;
  }

  #tableText(table: TableKind, meta: ListMeta, objects: readonly KubeObject[], hasColumns: boolean): string {
    const now = this.now();
    const version = this.format.kind === 'table' ? this.format.version : 'v1';
    return JSON.stringify({
      kind: 'Table',
      apiVersion: `meta.k8s.io/${version}`,
      metadata: meta,
      columnDefinitions: hasColumns ? table.columns : null,
      rows: objects.map((object) => this.#row(table, object, now)),
    });
  }

  #row(table: TableKind, object: KubeObject, now: Date): object {
    return { cells: table.cells(object, now), ...this.#rowObject(object) };
  }

  #rowObject(object: KubeObject): { readonly object?: unknown } {
    if (this.includeObject === 'None') return {};
    return { object: this.includeObject === 'Object' ? object : this.#metadataOnly(object) };
  }

  #metadataOnly({ metadata }: KubeObject): unknown {
    const version = this.format.kind === 'object' ? 'v1' : this.format.version;
    return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata };
  }
}

function withoutManagers(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Reads `includeObject` of a request for tables. */
export function parseIncludeObject(text: string | null): IncludeObject {
  if (text === null || text === '' || text === 'Metadata') return 'Metadata';
  if (text === 'None' || text === 'Object') return text;
  throw badRequest(`unrecognized includeObject value: "${text}"`);
}
