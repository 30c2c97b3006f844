import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { BuildFailure, Plugin } from 'esbuild';
import { type GraphEntry, parseGraphConfiguration } from '#lib/graph-configuration';
import { CommandError } from '../command-error.js';

const CODE = /\.([cm]?[jt]s|[jt]sx|json)$/;

/** Files that are no code are left to Node. */
const leaveOthers: Plugin = {
  name: 'leave-others',
  setup: ({ onLoad }) =>
    onLoad({ filter: /.*/ }, ({ path }) => (CODE.test(path) ? undefined : { contents: '', loader: 'empty' })),
};

/** Names that a module exports; undefined where only running it would show them. */
async function exportsOf(folder: string, file: string): Promise<ReadonlySet<string> | undefined> {
  const { build } = await import('esbuild');
  const { metafile, outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: [file],
    outdir: folder,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    packages: 'external',
    metafile: true,
    write: false,
    logLevel: 'silent',
    plugins: [leaveOthers],
  });
  const [output] = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint !== undefined);
  const isCommonJs = metafile.inputs[output?.entryPoint ?? '']?.format === 'cjs';
  const passesOn = outputFiles.some(({ text }) => /^export \* from/m.test(text));
  return output === undefined || isCommonJs || passesOn ? undefined : new Set(output.exports);
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}

async function troubleOf(
  folder: string,
  { graphId, file, exportName }: GraphEntry,
): Promise<string | undefined> {
  const graph = `langgraph.json: graph "${graphId}"`;
  if (relative(folder, resolve(folder, file)).startsWith('..'))
    return `${graph}: ${file} lies outside the folder, and the folder alone is copied; move the file into it`;
  try {
    const found = await exportsOf(folder, file);
    if (found === undefined || found.has(exportName)) return undefined;
    const others = found.size === 0 ? 'nothing' : [...found].sort().join(', ');
    return `${graph}: ${file} has no export "${exportName}", it exports ${others}; export the graph by that name, or name another as "${file}:EXPORT"`;
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    const places = error.errors.map(({ location: at, text }) =>
      at ? `${at.file}:${at.line}:${at.column + 1}: ${text}` : text,
    );
    return `${graph} does not compile: ${places.join('; ')}`;
  }
}

/**
 * Refuses graphs that visibly cannot be loaded, without running them: files that do not compile, and exports
 * that do not exist. The image store reports anything that the folder itself lacks.
 * @throws CommandError
 */
export async function checkGraphs(given: string): Promise<void> {
  if (!existsSync(join(given, 'langgraph.json'))) return;
  const folder = realpathSync(given);
  const text = readFileSync(join(folder, 'langgraph.json'), 'utf8');
  const { graphs, language } = parseGraphConfiguration(text, ['javascript', 'python']);
  if (language === 'python') return; // its files are looked for by the image store
  for (const graph of graphs) {
    if (!existsSync(resolve(folder, graph.file))) continue;
    const trouble = await troubleOf(folder, graph);
    if (trouble !== undefined) throw new CommandError('failed', trouble);
  }
}
