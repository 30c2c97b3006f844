import { EXIT } from '#lib/lifecycle';
import { costText, RestClient, timeText } from '#lib/rest-client';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';

/** A tracing project as the REST interface answers it, as far as it is shown. */
interface Project {
  readonly id: string;
  readonly name: string;
  readonly run_count: number | null;
  readonly total_tokens: number | null;
  readonly total_cost: string | null;
  readonly last_run_start_time: string | null;
}

/** The most that one answer holds. */
const PAGE = 100;

const SHAPE: Shape<Project> = {
  nameOf: ({ name }) => name,
  columns: [
    { heading: 'NAME', cell: ({ name }) => name },
    { heading: 'ID', isWide: true, cell: ({ id }) => id },
    { heading: 'RUNS', cell: ({ run_count: count }) => String(count ?? '') },
    { heading: 'TOKENS', cell: ({ total_tokens: tokens }) => String(tokens ?? '') },
    { heading: 'COST', cell: ({ total_cost: cost }) => costText(cost) },
    { heading: 'LAST RUN', cell: ({ last_run_start_time: at }) => (at === null ? '' : timeText(at)) },
  ],
};

/** `agentplane traces projects`: every tracing project, the newest first. */
export async function listProjects({
  output,
  ...flags
}: TargetFlags & { readonly output: OutputFormat }): Promise<number> {
  const rest = new RestClient(resolveTarget(flags).rest);
  const projects: Project[] = [];
  for (let page: readonly Project[] = []; projects.length === 0 || page.length === PAGE;) {
    const path = `/sessions?include_stats=true&limit=${PAGE}&offset=${projects.length}`;
    page = await rest.request<readonly Project[]>('GET', path);
    if (page.length === 0) break;
    projects.push(...page);
  }
  if (projects.length === 0 && output.kind === 'table')
    process.stderr.write(
      'No tracing projects found; a deployment, or the first run sent to one, makes it.\n',
    );
  else process.stdout.write(await renderItems(output, projects, SHAPE));
  return EXIT.ok;
}
