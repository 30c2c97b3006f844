import { isUtf8 } from 'node:buffer';
import { PublicError } from '#lib/errors';

const PROJECT = 'langsmith-project';
const AGENT = 'langsmith-agent-id';

/** The project that an exporter's headers name for spans that name none. @throws PublicError bad_request */
export function projectOfHeaders(headers: Readonly<Record<string, unknown>>): string | undefined {
  if (headers[AGENT] !== undefined)
    throw new PublicError(
      'bad_request',
      'Langsmith-Agent-Id is not supported by this platform; name the project in Langsmith-Project',
    );
  const name = headers[PROJECT];
  if (typeof name !== 'string' || name === '') return undefined;
  // the server reads headers byte by byte, and clients write names in UTF-8
  const bytes = Buffer.from(name, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : name;
}
