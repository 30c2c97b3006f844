import type { RestRequests } from './rest-client.js';
import { RestError } from './rest-error.js';

/** Statuses of an api of an earlier version, and for a key of another scope. */
const SILENT = [403, 404];

interface WarningsAnswer {
  readonly warnings: readonly { readonly message: string; readonly mend: string }[];
}

/** Warnings for an administrator of the platform, each in a line with its remedy. */
export async function readWarnings(rest: RestRequests): Promise<readonly string[]> {
  try {
    const { warnings } = await rest.request<WarningsAnswer>('GET', '/v1/warnings');
    return warnings.map(({ message, mend }) => `${message}: ${mend}`);
  } catch (error) {
    if (error instanceof RestError && SILENT.includes(error.status)) return [];
    throw error;
  }
}
