import { isUuid } from '#lib/resources';
import type { RestRequests } from '#lib/rest-client';
import { CommandError } from '../command-error.js';

interface DeploymentsPage {
  readonly resources: readonly { readonly id: string; readonly name: string }[];
}

const PAGE = 100;

/** The id of a deployment. @param name its name or id @throws CommandError `notFound` */
export async function deploymentIdOf(rest: RestRequests, name: string): Promise<string> {
  if (isUuid(name)) return name;
  for (let offset = 0; ; offset += PAGE) {
    const { resources } = await rest.request<DeploymentsPage>(
      'GET',
      `/v2/deployments?name_contains=${encodeURIComponent(name)}&limit=${PAGE}&offset=${offset}`,
    );
    const found = resources.find((one) => one.name === name);
    if (found) return found.id;
    if (resources.length === PAGE) continue;
    throw new CommandError('notFound', `deployment ${name} does not exist in this workspace`);
  }
}
