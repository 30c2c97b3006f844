import { isUuid } from '#lib/resources';
import type { RestClient, RestRequests } from '#lib/rest-client';
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

/** The id of a tracing project. @param project its name or id @throws CommandError `notFound` */
export async function projectIdOf(rest: RestClient, project: string): Promise<string> {
  if (isUuid(project)) return project;
  const found = await rest.request<readonly { readonly id: string }[]>(
    'GET',
    `/sessions?name=${encodeURIComponent(project)}&limit=1`,
  );
  const id = found[0]?.id;
  if (id !== undefined) return id;
  throw new CommandError(
    'notFound',
    `tracing project ${project} does not exist: it is made by the first run that names it`,
  );
}

/** Names of the newest projects by their ids. */
export async function projectNames(rest: RestClient): Promise<ReadonlyMap<string, string>> {
  const path = '/sessions?limit=100';
  const projects = await rest.request<readonly { readonly id: string; readonly name: string }[]>('GET', path);
  return new Map(projects.map(({ id, name }) => [id, name]));
}
