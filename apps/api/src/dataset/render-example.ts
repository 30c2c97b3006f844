import { formatInstant } from '#lib/time';
import type { ExamplePayload, ExampleRow } from '#lib/trace-store';
import type { AttachmentLinks } from '../attachment/attachment-urls.js';

/** Payloads and links, which a row does not have itself. */
type Payloads = Readonly<Partial<Record<ExamplePayload, Buffer>>> & {
  readonly links?: AttachmentLinks | undefined;
};
type Field = (row: ExampleRow, payloads: Payloads) => Buffer | string | null | undefined;

const CLOSE_OBJECT = 0x7d;

const text = (value: string | null | undefined): string => JSON.stringify(value ?? null);

/** JSON text of each field, in the order of the answer; payloads are the bytes that came. */
const FIELDS: Readonly<Record<string, Field>> = {
  id: ({ id }) => text(id),
  dataset_id: ({ datasetId }) => text(datasetId),
  name: () => null,
  created_at: ({ createdAt }) => text(formatInstant(createdAt)),
  modified_at: ({ since }) => text(formatInstant(since)),
  source_run_id: ({ sourceRunId }) => text(sourceRunId),
  metadata: ({ splits }, { metadata }) => withSplits(splits, metadata),
  inputs: (_row, { inputs }) => inputs,
  outputs: (_row, { outputs }) => outputs,
  attachment_urls: (_row, { links }) => links && linksText(links),
};

function linksText(links: AttachmentLinks): string {
  return JSON.stringify(Object.fromEntries([...links].map(([name, url]) => [`attachment.${name}`, url])));
}

/** Every name that `select` may have. */
export const EXAMPLE_FIELDS = Object.keys(FIELDS);

const PAYLOADS: readonly ExamplePayload[] = ['metadata', 'inputs', 'outputs'];

/** Fields that are answered regardless of `select`, unless they are excluded. */
const USUAL = ['id', 'dataset_id', 'name', 'created_at', 'modified_at', 'inputs'];

/** Names of the fields that are answered. */
export function selectedFields(select: readonly string[] | undefined, isExact: boolean): readonly string[] {
  if (!select && !isExact) return EXAMPLE_FIELDS;
  const wanted = new Set(['id', ...(isExact ? [] : USUAL), ...(select ?? [])]);
  return EXAMPLE_FIELDS.filter((name) => wanted.has(name));
}

export function payloadsOf(fields: readonly string[]): readonly ExamplePayload[] {
  return PAYLOADS.filter((name) => fields.includes(name));
}

/** An example on the wire. */
export function renderExample(row: ExampleRow, payloads: Payloads, fields: readonly string[]): Buffer {
  const parts = fields.flatMap((name, at) => [
    Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    asBytes(FIELDS[name]?.(row, payloads)),
  ]);
  return Buffer.concat([...parts, Buffer.from('}')]);
}

function asBytes(json: Buffer | string | null | undefined): Buffer {
  return Buffer.isBuffer(json) ? json : Buffer.from(json ?? 'null');
}

/** The splits are put into the stored object, whose bytes stay as they came. */
function withSplits(splits: readonly string[], metadata: Buffer | undefined): Buffer {
  const member = `{"dataset_split":${JSON.stringify(splits)}`;
  const rest = metadata?.subarray(metadata.indexOf('{') + 1);
  const first = rest?.find((byte) => byte > 0x20);
  if (!rest || first === CLOSE_OBJECT) return Buffer.from(`${member}}`);
  return Buffer.concat([Buffer.from(`${member},`), rest]);
}
