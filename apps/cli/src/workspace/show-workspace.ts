import { visibleLine } from '#lib/command-line';
import { EXIT } from '#lib/lifecycle';
import { workspaceLines } from '#lib/object-text';
import { readWorkspace, RestClient, type WorkspaceDetails } from '#lib/rest-client';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, renderDocument } from '../output/print-items.js';

/** `agentplane workspace show`. */
export async function showWorkspace({
  output,
  ...flags
}: TargetFlags & { readonly output: OutputFormat }): Promise<number> {
  const rest = new RestClient(resolveTarget(flags).rest);
  process.stdout.write(await render(output, await readWorkspace(rest)));
  return EXIT.ok;
}

async function render(format: OutputFormat, workspace: WorkspaceDetails): Promise<string> {
  switch (format.kind) {
    case 'table':
    case 'wide':
      return `${workspaceLines(workspace).join('\n')}\n`;
    case 'name':
      return `${visibleLine(workspace.name)}\n`;
    case 'json':
    case 'yaml':
    case 'jsonpath':
      return await renderDocument(format, workspace);
    default:
      return format satisfies never;
  }
}
