import { type LoadHookSync, registerHooks, type ResolveHookSync, setSourceMapsSupport } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type CompiledSources, compileSources, keptSources } from '#lib/graph-sources';
import { sharedModule } from './shared-engine.js';

/**
 * The agent's files for `installSourceHooks`: those that its image has kept, else made now, which takes two runs of esbuild.
 * @param folder real path of the agent's folder
 * @throws TerminalError (`GraphLoadFailed`) with file, line and column of each error
 */
export async function readSources(folder: string, files: readonly string[]): Promise<CompiledSources> {
  return (await keptSources(folder, files)) ?? (await compileSources(folder, files));
}

function pathOf(url: string | undefined): string | undefined {
  return url?.startsWith('file:') ? fileURLToPath(url) : undefined;
}

/**
 * Serves an agent's compiled files to `import` and `require` of this process, with source maps, so that
 * errors name the lines that their author wrote. Files that no import names literally (`import(variable)`)
 * are left to Node.
 */
export function installSourceHooks(
  { modules, targets }: CompiledSources,
  onPackage: (url: string) => void,
): void {
  const resolve: ResolveHookSync = (specifier, context, next) => {
    const parent = pathOf(context.parentURL);
    const named = parent === undefined ? undefined : targets.get(parent);
    const target = named?.get(specifier);
    if (target === undefined) {
      const found = next(specifier, context);
      if (named && found.url.startsWith('file:')) onPackage(found.url);
      return { ...found, url: sharedModule(found.url) };
    }
    const { href } = pathToFileURL(target);
    if (extname(target) === '.json')
      return { url: href, format: 'json', importAttributes: { type: 'json' }, shortCircuit: true };
    const format = modules.get(target)?.format;
    return format === undefined
      ? next(context.conditions.includes('require') ? target : href, context)
      : { url: href, format, shortCircuit: true };
  };
  const load: LoadHookSync = (url, context, next) => {
    const path = pathOf(url);
    const module = path === undefined ? undefined : modules.get(path);
    if (!module) return next(url, context);
    return { source: module.code, format: module.format, shortCircuit: true };
  };
  registerHooks({ resolve, load });
  setSourceMapsSupport(true, { nodeModules: false, generatedCode: false });
}
