import { spawnSync } from 'node:child_process';
import { inheritedEnvironment } from '#lib/config';

const { AGENTPLANE_TEST_PYTHON } = inheritedEnvironment(['AGENTPLANE_TEST_PYTHON']);
const SCRIPT = 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))';

/**
 * The Python of `AGENTPLANE_TEST_PYTHON`, or else of the machine, where it has these modules; empty where one is missing.
 * They are looked up, not imported: that of a client of ours takes seconds.
 */
export function pythonWith(...modules: readonly string[]): string {
  const python = AGENTPLANE_TEST_PYTHON ?? 'python3';
  return spawnSync(python, ['-c', SCRIPT, ...modules]).status === 0 ? python : '';
}
