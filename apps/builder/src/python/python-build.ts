import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseGraphConfiguration, type PythonSettings } from '#lib/graph-configuration';
import { findPython } from '#lib/image-store';
import { BuildError } from '../build-error.js';
import { type Command, runCommand } from '../run-command.js';

/** An agent whose graphs are Python. */
interface AgentPython {
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

type Common = Required<Pick<Command, 'signal' | 'maxFileBytes'>>;

const PROGRAM = fileURLToPath(new URL('main.js', import.meta.url));

/** The steps of a build that only agents in Python have. */
export class PythonBuild {
  private constructor(
    private readonly configuration: string,
    private readonly common: Common,
  ) {}

  /**
   * Checks if the graphs are Python, and if the machine has the one that a command of the repository is to install for. A `.venv` of the repository was made on
   * another machine and is removed.
   * @returns undefined for other graphs, and for a configuration that is not valid yet: a build command may
   * write it
   * @throws TerminalError when the machine lacks that Python
   */
  static async begin(
    configuration: string,
    common: Common,
    { hasOwnInstall }: { readonly hasOwnInstall: boolean },
  ): Promise<PythonBuild | undefined> {
    const agent = findAgentPython(configuration);
    if (!agent) return undefined;
    // our own installation takes another one that the lists allow
    if (hasOwnInstall) await findPython(agent.settings.version);
    rmSync(join(agent.folder, '.venv'), { recursive: true, force: true });
    return new PythonBuild(configuration, common);
  }

  /** Build for a configuration that commands may have written: they made the environment too. */
  static find(configuration: string, common: Common): PythonBuild | undefined {
    return findAgentPython(configuration) && new PythonBuild(configuration, common);
  }

  /** Installs what the lists of the agent name. @throws BuildError */
  async install(): Promise<void> {
    await this.#perform('install');
  }

  /** Makes what was installed fit to be taken as an image. @throws BuildError */
  async close(): Promise<void> {
    await this.#perform('close');
  }

  async #perform(step: 'install' | 'close'): Promise<void> {
    const folder = process.cwd();
    const own = join(folder, '.build');
    mkdirSync(own, { recursive: true, mode: 0o700 });
    const [tools, message] = [join(own, 'python'), join(own, `python-${step}`)];
    const code = await runCommand({
      program: process.execPath,
      args: [PROGRAM, step, this.configuration, tools, message],
      folder,
      ...this.common,
    });
    if (code === 0) return;
    const said = existsSync(message) ? readFileSync(message, 'utf8') : '';
    throw new BuildError(
      said === ''
        ? `the step ${step} of Python ended with exit code ${code}; see the log of the build`
        : said,
    );
  }
}

function findAgentPython(configuration: string): AgentPython | undefined {
  try {
    return readAgentPython(configuration);
  } catch {
    return undefined;
  }
}
