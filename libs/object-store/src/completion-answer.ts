import { storeSentence } from './store-sentence.js';

/** The code of an answer that has no result of the upload. */
export const UNCLEAR = 'NotAnObjectStore';

/**
 * Maximum length of an answer. It has a few hundred letters; the author of the endpoint may send megabytes.
 */
const MAX_LETTERS = 64 << 10;

/**
 * Reads a store's answer about a completed upload: it may begin with 200 before it knows that it fails. Any
 * XML with an ETag and no error is a result, since some stores give its root another name. An answer that is
 * neither a result nor an error with a code has the code `NotAnObjectStore`: it is unknown whether an object
 * exists.
 */
export function readCompletion(answer: string): {
  readonly code?: string;
  readonly sentence?: string | undefined;
  readonly etag: string;
} {
  // blanks keep the connection, before or after the declaration
  const text = answer
    .trimStart()
    .replace(/^<\?xml[^>]{0,200}\?>\s*/, '')
    .slice(0, MAX_LETTERS);
  const error = text.search(/<Error[\s>]/);
  if (error >= 0) {
    const code = /<Code>(\w{1,64})<\/Code>/.exec(text.slice(error))?.[1];
    return { code: code ?? UNCLEAR, sentence: storeSentence(text.slice(error), {}), etag: '' };
  }
  const etag = /<ETag>(?:&quot;|&#34;|")?([^<&"]{1,1024})/.exec(text)?.[1] ?? '';
  const isResult = /^<CompleteMultipartUploadResult[\s>]/.test(text) || (etag !== '' && !isPage(text));
  return isResult ? { etag } : { code: UNCLEAR, etag: '' };
}

function isPage(text: string): boolean {
  return !text.startsWith('<') || /^<(?:!doctype|html)/i.test(text);
}
