import { isUuid } from '#lib/resources';
import type { RestClient } from '#lib/rest-client';
import { CommandError } from '../command-error.js';

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
