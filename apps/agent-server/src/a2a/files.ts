import { isJsonObject, type JsonObject } from '#lib/json';

/** A file in a message: its bytes, or an address that leads to it. */
export interface FilePart {
  readonly kind: 'file';
  /** Base64. */
  readonly bytes?: string;
  readonly url?: string;
  readonly mediaType?: string;
  readonly name?: string;
}

/** Types of blocks that hold files, in the words of LangChain. */
const BLOCK_TYPES: ReadonlySet<unknown> = new Set(['image', 'audio', 'video', 'file']);

/**
 * Content block of a file, in the form that both languages of LangChain read: `source_type` says where it is.
 */
export function blockOfFile({ bytes, url, mediaType, name }: FilePart): JsonObject {
  const [kind = ''] = (mediaType ?? '').split('/', 1);
  return {
    type: kind === 'image' || kind === 'audio' ? kind : 'file',
    ...(bytes === undefined ? { source_type: 'url', url } : { source_type: 'base64', data: bytes }),
    ...(mediaType === undefined ? {} : { mime_type: mediaType }),
    ...(name === undefined ? {} : { metadata: { filename: name, name } }),
  };
}

function textOf(...given: readonly unknown[]): string | undefined {
  return given.find((value): value is string => typeof value === 'string' && value !== '');
}

/** The file of a content block in any of the forms that LangChain has for them; undefined for other blocks. */
export function fileOfBlock(block: unknown): FilePart | undefined {
  if (!isJsonObject(block)) return undefined;
  const { type, image_url: imageUrl, metadata, extras } = block;
  if (type === 'image_url') return fileOfUrl(isJsonObject(imageUrl) ? imageUrl['url'] : imageUrl, {});
  if (!BLOCK_TYPES.has(type)) return undefined;
  const more = [metadata, extras].filter(isJsonObject);
  const mediaType = textOf(block['mime_type'], block['mimeType']);
  const name = textOf(block['filename'], ...more.flatMap((of) => [of['filename'], of['name']]));
  const head = { ...(mediaType ? { mediaType } : {}), ...(name ? { name } : {}) };
  const bytes = textOf(block['base64'], block['data']);
  return bytes === undefined ? fileOfUrl(block['url'], head) : { kind: 'file', bytes, ...head };
}

/** An address, or bytes that are written as one. */
function fileOfUrl(url: unknown, head: Omit<FilePart, 'kind'>): FilePart | undefined {
  if (typeof url !== 'string' || url === '') return undefined;
  const [, mediaType, bytes] = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w.+=-]+)*;base64,(.*)$/s.exec(url) ?? [];
  if (bytes === undefined) return { kind: 'file', url, ...head };
  return { kind: 'file', bytes, ...(mediaType ? { mediaType } : {}), ...head };
}
