import { resolve, sep } from 'node:path';
import type { Node, SourceFile } from 'typescript-native/unstable/ast';
import {
  isCallExpression,
  isPropertyAccessExpression,
  isStringLiteral,
} from 'typescript-native/unstable/ast/is';
import { type Project, SymbolFlags, type Type } from 'typescript-native/unstable/sync';
import type { GraphEntry } from '#lib/graph-configuration';
import { compileAgent } from './compiled-agent.js';
import { type DescribedGraphs, GraphTypes, type GraphTypeSchemas } from './graph-types.js';

const CODE = /\.[cm]?[jt]sx?$/;
const TYPED = /\.[cm]?tsx?$/;

/**
 * Reads the schemas of an agent's graphs from their types; none of its code is run.
 * @param folder real path of the agent's folder
 * @param roots real paths of the folders that the compiler may read: the agent's, and those of its packages
 */
export function describeGraphs(
  folder: string,
  graphs: readonly Pick<GraphEntry, 'graphId' | 'file' | 'exportName'>[],
  roots: readonly string[],
): DescribedGraphs {
  const named = graphs
    .map((graph) => ({ ...graph, file: resolve(folder, graph.file) }))
    .filter(({ file }) => CODE.test(file) && file.startsWith(folder + sep));
  const files = [...new Set(named.map(({ file }) => file))];
  const found: Record<string, GraphTypeSchemas> = {};
  const nodes = new Map<string, GraphTypeSchemas | undefined>();
  const problems: string[] = [];
  compileAgent({ folder, files, roots }, (project, ofProject) => {
    for (const { graphId, file, exportName } of named.filter((graph) => ofProject.includes(graph.file))) {
      const type = typeOfExport(project, file, exportName);
      const types = new GraphTypes(project.checker);
      const schemas = type && types.schemasOf(type);
      if (schemas) found[graphId] = schemas;
      const what = schemas ? types.unresolved.join(', ') : 'its schemas';
      // no author of JavaScript promised any
      if (what !== '' && TYPED.test(file))
        problems.push(`graph "${graphId}": no types of ${what}: ${causeIn(project, file, folder)}`);
    }
    const types = new GraphTypes(project.checker);
    for (const file of ownFiles(project, folder)) readNodes(project, file, types, nodes);
  });
  const subgraphs = [...nodes].flatMap(([name, schemas]) => (schemas ? [[name, schemas] as const] : []));
  return { graphs: found, subgraphs: Object.fromEntries(subgraphs), problems };
}

function typeOfExport({ program, checker }: Project, file: string, name: string): Type | undefined {
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  const exported = module && checker.getExportsOfModule(module).find((one) => one.name === name);
  if (!exported) return undefined;
  return checker.getTypeOfSymbol(
    exported.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported,
  );
}

/** The first error of the file, which tends to be the cause: a package whose types are missing, or a wrong type. */
function causeIn({ program }: Project, file: string, folder: string): string {
  const [first] = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  const name = file.slice(folder.length + 1);
  if (!first) return `${name}: the export is no graph of LangGraph`;
  return `${name}${placeIn(program.getSourceFile(file), first.pos)}${first.text}`;
}

function placeIn(source: SourceFile | undefined, position: number): string {
  const before = source?.text.slice(0, position).split('\n') ?? [];
  return `:${before.length}:${(before.at(-1)?.length ?? 0) + 1}: `;
}

/** Files of the agent's own, without those of packages. */
function ownFiles({ program }: Project, folder: string): readonly string[] {
  return program
    .getSourceFileNames()
    .filter(
      (path) => path.startsWith(folder + sep) && !path.includes('/node_modules/') && !path.endsWith('.d.ts'),
    );
}

/** Notes the graphs that a file adds to others as nodes; a name that means two graphs has no schemas. */
function readNodes(
  { program, checker }: Project,
  file: string,
  types: GraphTypes,
  nodes: Map<string, GraphTypeSchemas | undefined>,
): void {
  const source = program.getSourceFile(file);
  if (!source?.text.includes('addNode')) return;
  const visit = (node: Node): void => {
    node.forEachChild(visit);
    if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return;
    const [name, graph] = node.arguments;
    if (node.expression.name.text !== 'addNode' || !name || !graph || !isStringLiteral(name)) return;
    const type = checker.getTypeAtLocation(graph);
    const schemas = type && types.schemasOfNode(type);
    if (!schemas) return;
    const before = nodes.get(name.text);
    const isOther = nodes.has(name.text) && JSON.stringify(before) !== JSON.stringify(schemas);
    nodes.set(name.text, isOther ? undefined : schemas);
  };
  visit(source);
}
