/** An answer has a few hundred letters; whoever wrote the endpoint may send megabytes. */
const MAX_LETTERS = 64 << 10;

/**
 * What a store says about a completed upload: it may begin with 200 before it knows that it fails. An answer that is
 * neither a result nor an error with a code has the code `NotAnObjectStore`: nothing says that there is an object.
 */
export function readCompletion(answer: string): { readonly code?: string; readonly etag: string } {
  // blanks keep the connection, before or after the declaration
  const text = answer
    .trimStart()
    .replace(/^<\?xml[^>]{0,200}\?>\s*/, '')
    .slice(0, MAX_LETTERS);
  const error = text.search(/<Error[\s>]/);
  if (error >= 0)
    return { code: /<Code>(\w{1,64})<\/Code>/.exec(text.slice(error))?.[1] ?? 'NotAnObjectStore', etag: '' };
  if (!text.includes('<CompleteMultipartUploadResult')) return { code: 'NotAnObjectStore', etag: '' };
  return { etag: /<ETag>(?:&quot;|&#34;|")?([^<&"]{1,1024})/.exec(text)?.[1] ?? '' };
}
