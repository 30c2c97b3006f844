import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TerminalError } from '#lib/errors';
import { type GraphConfiguration, isModuleName, parseGraphConfiguration } from '#lib/graph-configuration';
import { readSmallFile } from './read-small-file.js';
import { IMAGE_NAME } from './reference.js';

/**
 * The configuration of a folder that can be an image of that name.
 * @throws TerminalError naming the fault of the name or the folder
 */
export function requireImportable(name: string, source: string): GraphConfiguration {
  if (!IMAGE_NAME.test(name))
    throw new TerminalError(
      'ImageNameInvalid',
      `${JSON.stringify(name)} cannot be the name of an image: use a-z, 0-9, ".", "_" and "-", at most 63`,
    );
  if (!statSync(source, { throwIfNoEntry: false })?.isDirectory())
    throw new TerminalError('FolderNotFound', `${source} is not a folder`);
  const configuration = join(source, 'langgraph.json');
  if (!existsSync(configuration))
    throw new TerminalError('NotAnAgent', `${source} has no langgraph.json; an agent's folder needs one`);
  const read = parseGraphConfiguration(readSmallFile(configuration, 'NotAnAgent'), ['javascript', 'python']);
  const { graphs, auth, http, ui } = read;
  const named = graphs.map(({ graphId, file }) => ({ what: `graph "${graphId}"`, file }));
  const others = [
    ...(auth ? [{ what: '"auth.path"', file: auth.file }] : []),
    ...(http.app ? [{ what: '"http.app"', file: http.app.file }] : []),
    ...ui.entries.map(({ name, file }) => ({ what: `"ui": ${name}`, file })),
  ];
  for (const { what, file } of [...named, ...others])
    if (!isModuleName(file) && !existsSync(join(source, file)))
      throw new TerminalError('NotAnAgent', `langgraph.json: ${what}: ${file} does not exist`);
  return read;
}
