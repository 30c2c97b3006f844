import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { GRAPH_TYPES_FILE, type GraphConfiguration, parseGraphConfiguration } from '#lib/graph-configuration';
import { keepSources } from '#lib/graph-sources';

// A process of its own: calls to the compiler block, and its memory goes with it. Writes the schemas of an agent's graphs, and
// with --sources its files as JavaScript, into its folder and prints a line for each problem. Arguments: the graph
// configuration, and more folders that may be read.
// pods have users of their own, and the platform's umask closes what it writes to all of them
process.umask(0o022);
const words = process.argv.slice(2);
const keepsSources = words[0] === '--sources';
const [configuration = '', ...others] = keepsSources ? words.slice(1) : words;
const read = parseGraphConfiguration(readFileSync(configuration, 'utf8'), ['javascript', 'python']);
if (!read.python) {
  const [folder = '', ...roots] = [dirname(configuration), ...others].map((path) => realpathSync(path));
  const path = join(folder, GRAPH_TYPES_FILE);
  // a script of a package may have put a link to another folder there
  if (keepsSources) rmSync(dirname(path), { recursive: true, force: true });
  // sources that do not compile are named when the agent is loaded
  if (keepsSources) await keepSources(folder, filesOf(read, folder), roots).catch(() => undefined);
  const { describeGraphs } = await import('./describe-graphs.js');
  const { problems, ...found } = describeGraphs(folder, read.graphs, [folder, ...roots]);
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  // every user of a pod reads it
  writeFileSync(path, JSON.stringify(found), { mode: 0o644 });
  for (const problem of problems) process.stdout.write(`${problem}\n`);
}

/** Files that the agent server imports by name. */
function filesOf({ graphs, auth, priority, http, store }: GraphConfiguration, folder: string): string[] {
  const named = [...graphs, auth, priority, http.app, store.index?.source].flatMap((one) => one?.file ?? []);
  return [...new Set(named.map((file) => resolve(folder, file)))].filter((file) => existsSync(file));
}
