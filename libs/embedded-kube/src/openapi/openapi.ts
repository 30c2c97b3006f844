import { createHash } from 'node:crypto';
import { openapiForGroup } from '#lib/kube-semantics';
import type { Discovery } from '../discovery/discovery.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import { customDocument } from './custom-document.js';

/**
 * `/openapi/v2` as kubectl asks for it: an empty document (swagger "2.0", info title "Kubernetes", version "v1.34.4")
 * in protobuf. It only has to be there; everything kubectl reads comes from v3.
 */
export const OPENAPI_V2 = {
  contentType: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  body: Buffer.from('\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.34.4', 'latin1'),
} as const;

interface Document {
  readonly text: string;
  readonly hash: string;
}

/** The OpenAPI v3 documents of all groups, made when first asked for and again when definitions change. */
export class OpenApi {
  readonly #documents = new Map<string, Document>();
  readonly #builtin = new Map<string, Document>();

  constructor(
    private readonly types: TypeRegistry,
    private readonly discovery: Discovery,
  ) {
    types.onChange(() => this.#documents.clear());
  }

  /** The index: where each group's document is. The hash lets clients keep it. */
  index(): object {
    const paths = this.discovery.groups().flatMap(({ group, versions }) =>
      versions.map(({ version }) => {
        const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
        const hash = this.#document(group, version).hash;
        return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }] as const;
      }),
    );
    return { paths: Object.fromEntries(paths) };
  }

  /** JSON of one document; undefined when the group is not served. */
  document(group: string, version: string): string | undefined {
    const isServed = this.discovery
      .groups()
      .some((each) => each.group === group && each.versions.some((served) => served.version === version));
    return isServed ? this.#document(group, version).text : undefined;
  }

  #document(group: string, version: string): Document {
    const key = `${group}/${version}`;
    const known = this.#builtin.get(key) ?? this.#documents.get(key);
    if (known) return known;
    const builtin = openapiForGroup(group, version);
    const types = this.types.list().filter((type) => type.group === group);
    const text = JSON.stringify(builtin ?? customDocument(types, group, version, openapiForGroup('', 'v1')));
    const document = {
      text,
      hash: createHash('sha256').update(text).digest('hex').slice(0, 32).toUpperCase(),
    };
    (builtin ? this.#builtin : this.#documents).set(key, document);
    return document;
  }
}
