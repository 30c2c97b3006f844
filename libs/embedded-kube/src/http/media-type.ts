/** One entry of an Accept header. */
export interface MediaType {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Format of a response. */
export type AnswerFormat =
  | { readonly kind: 'object'; readonly yaml: boolean }
  | { readonly kind: 'table'; readonly version: string }
  | { readonly kind: 'metadata'; readonly version: string };

/** The entries of an Accept header in the order of preference that kubectl means: as they are written. */
export function parseAccept(header: string | undefined): readonly MediaType[] {
  return (header ?? '*/*')
    .split(',')
    .map((entry) => {
      const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
      const pairs = parameters
        .map((parameter) => parameter.split('=', 2))
        .map(([name = '', value = '']) => [name, value]);
      return { type: type.toLowerCase(), parameters: Object.fromEntries(pairs) as Record<string, string> };
    })
    .filter((entry) => entry.type !== '');
}

const ANY_JSON = new Set(['application/json', 'application/*', '*/*']);

/** The first format that we can write, or undefined when the client accepts none (406). */
export function negotiate(header: string | undefined): AnswerFormat | undefined {
  for (const { type, parameters } of parseAccept(header)) {
    if (type === 'application/yaml' && !parameters.as) return { kind: 'object', yaml: true };
    if (!ANY_JSON.has(type)) continue;
    const isMeta = parameters.g === undefined || parameters.g === 'meta.k8s.io';
    const version = parameters.v ?? 'v1';
    if (parameters.as === undefined) return { kind: 'object', yaml: false };
    if (!isMeta || (version !== 'v1' && version !== 'v1beta1')) continue;
    if (parameters.as === 'Table') return { kind: 'table', version };
    if (parameters.as === 'PartialObjectMetadata' || parameters.as === 'PartialObjectMetadataList')
      return { kind: 'metadata', version };
  }
  return undefined;
}

/** The bare type of a Content-Type header. */
export function contentType(header: string | undefined): string {
  return (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
