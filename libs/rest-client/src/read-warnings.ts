import type { RestRequests } from './rest-client.js';
import { RestError } from './rest-error.js';

/** Of an api of an earlier version, and for a key of another scope. */
const SILENT = [403, 404];

interface WarningsAnswer {
  readonly warnings: readonly { readonly message: string; readonly mend: string }[];
}

/** What an administrator of the platform should mend, each in a line with what mends it. */
export async function readWarnings(rest: RestRequests): Promise<readonly string[]> {
  try {
    const { warnings } = await rest.request<WarningsAnswer>('GET', '/v1/warnings');
    return warnings.map(({ message, mend }) => `${message}: ${mend}`);
  } catch (error) {
    if (error instanceof RestError && SILENT.includes(error.status)) return [];
    throw error;
  }
}
