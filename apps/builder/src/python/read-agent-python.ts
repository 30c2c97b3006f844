import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseGraphConfiguration, type PythonSettings } from '#lib/graph-configuration';

/** An agent whose graphs are Python. */
export interface AgentPython {
  /** Folder of its graph configuration. */
  readonly folder: string;
  readonly settings: PythonSettings;
}

/**
 * Python settings of a graph configuration; undefined where its graphs are not Python.
 * @throws TerminalError when it is malformed
 */
export function readAgentPython(path: string): AgentPython | undefined {
  const { python } = parseGraphConfiguration(readFileSync(path, 'utf8'), ['javascript', 'python']);
  return python && { folder: dirname(path), settings: python };
}
