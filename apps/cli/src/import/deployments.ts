import { visibleText } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { type JsonObject, listAt, own, recordAt, textAt } from '#lib/json';
import { RestError, type RestRequests } from '#lib/rest-client';
import type { Page, Part } from './move.js';
import { given } from './source.js';

const PAGE = 100;
const PATH = '/v2/deployments';

/** Sources of the vendor that can be built or pulled here; images in its own registry cannot. */
const SOURCES: Readonly<Record<string, 'git_host' | 'external_image'>> = {
  github: 'git_host',
  git_host: 'git_host',
  external_docker: 'external_image',
  external_image: 'external_image',
};

/** The address of the control plane beside that of LangSmith's traces; the same server elsewhere. */
export function controlPlaneOf(from: string): string {
  const cloud = from.replace(/^(https:\/\/(?:\w+\.)?api\.)smith(\.langchain\.com)$/, '$1host$2');
  return cloud.replace(/\/api(?:\/v1)?$/, '');
}

/** Deployments by name: one that is there stays as it is. Values of secrets cannot be read, so their names are printed. */
export function deploymentsPart(from: RestRequests, to: RestRequests): Part {
  return {
    key: 'deployments',
    title: 'deployments',
    total: undefined,
    prepare: () => Promise.resolve('deployments'),
    async read(cursor = '0'): Promise<Page> {
      const answer = await from.request('GET', `${PATH}?limit=${PAGE}&offset=${cursor}`);
      const found = listAt(answer, 'resources');
      const bodies = found.map(bodyOf).filter((body) => body !== undefined);
      const left = found.length - bodies.length;
      return {
        counts: { deployments: bodies.length },
        left: left === 0 ? {} : { 'deployments of the vendor’s registry': left },
        next: found.length < PAGE ? undefined : String(Number(cursor) + found.length),
        async write() {
          let refused = 0;
          for (const body of bodies) if (!(await isCreated(to, body))) refused++;
          return { deployments: refused };
        },
      };
    },
    there: () => Promise.resolve({}),
  };
}

interface NewDeployment {
  readonly name: string;
  readonly secretNames: readonly string[];
  readonly body: JsonObject;
}

function bodyOf(found: unknown): NewDeployment | undefined {
  const [name, source] = [textAt(found, ['name']), SOURCES[textAt(found, ['source'])]];
  const [config, revision] = [recordAt(found, 'source_config'), recordAt(found, 'source_revision_config')];
  const isGit = source === 'git_host';
  if (source === undefined || (!isGit && !own(revision, 'image_uri'))) return undefined;
  const named = isGit ? ['repo_url', 'build_on_push', 'install_command', 'build_command'] : ['resource_spec'];
  return {
    name,
    secretNames: listAt(found, 'secrets').map((one) => textAt(one, ['name'])),
    body: {
      name,
      source,
      source_config: given({
        ...Object.fromEntries(named.map((member) => [member, own(config, member)])),
        ...(isGit ? { deployment_type: 'prod' } : {}),
      }),
      source_revision_config: given(
        isGit
          ? {
              repo_ref: own(revision, 'repo_ref'),
              graph_config_path: own(revision, 'graph_config_path') ?? own(revision, 'langgraph_config_path'),
            }
          : { image_uri: own(revision, 'image_uri') },
      ),
    },
  };
}

async function isCreated(to: RestRequests, { name, secretNames, body }: NewDeployment): Promise<boolean> {
  const query = `?name_contains=${encodeURIComponent(name)}&limit=${PAGE}`;
  const { resources } = await to.request<{ readonly resources: readonly JsonObject[] }>(
    'GET',
    `${PATH}${query}`,
  );
  if (resources.some((one) => one['name'] === name)) return true;
  try {
    await to.request('POST', PATH, body);
  } catch (error) {
    if (!(error instanceof RestError && error.status < 500)) throw error;
    process.stderr.write(visibleText(`deployment ${name} was refused: ${errorText(error)}\n`));
    return false;
  }
  if (secretNames.length > 0)
    process.stderr.write(
      visibleText(
        `deployment ${name} needs values of ${secretNames.join(', ')}: agentplane secrets set ${name} -f .env\n`,
      ),
    );
  return true;
}
