import { jest } from '@jest/globals';
import { runCommandLine } from '#lib/command-line';
import { COMMANDS, GROUPS } from '../../apps/cli/src/commands.js';

class Ended extends Error {}

/** What the command line itself says against words of `agentplane`; nothing is run. */
export async function wrongWords(words: readonly string[]): Promise<readonly string[]> {
  let complaint = '';
  let hasRun = false;
  const exit = jest.spyOn(process, 'exit').mockImplementation(() => {
    throw new Ended();
  });
  const stderr = jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    complaint += String(text);
    return true;
  });
  const stdout = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
  try {
    await runCommandLine(
      {
        about: '',
        version: '',
        groups: GROUPS,
        report: () => 1,
        commands: COMMANDS.map((command) => ({
          ...command,
          run: async () => {
            hasRun = true;
            return undefined;
          },
        })),
      },
      words,
    );
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  } finally {
    for (const spy of [exit, stderr, stdout]) spy.mockRestore();
  }
  const isHelp = ['--help', '--version'].some((word) => words.includes(word));
  return hasRun || (isHelp && complaint === '') ? [] : [`agentplane ${words.join(' ')}: ${complaint.trim()}`];
}
