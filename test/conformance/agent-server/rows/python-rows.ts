import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pythonWith } from '#lib/testing';
import type { Row, Target } from '../target.js';

const SCRIPT = join(import.meta.dirname, '..', 'python', 'rows.py');
/** A Python with `langgraph-sdk`, and with `langgraph` for its RemoteGraph. */
const HOW = 'set AGENTPLANE_TEST_PYTHON to a Python that has langgraph-sdk and langgraph';
const python = pythonWith('langgraph_sdk', 'langgraph');

interface Outcome {
  readonly name: string;
  readonly error: string | null;
}

/** One process checks all rows of a target, since each would take a second to start. */
class PythonChecks {
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  readonly #outcomes = new Map<string, Promise<Outcome>>();

  constructor({ url, headers }: Target, names: readonly string[]) {
    for (const name of names)
      this.#outcomes.set(name, new Promise((resolve) => this.#waiting.set(name, resolve)));
    const child = spawn(python, [SCRIPT, url, JSON.stringify(headers)]);
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const outcome = JSON.parse(line) as Outcome;
      this.#waiting.get(outcome.name)?.(outcome);
    });
    child.on('close', () => {
      // resolved ones stay as they are
      for (const [name, resolve] of this.#waiting)
        resolve({ name, error: `the process ended: ${complaint}` });
    });
  }

  async expect(name: string): Promise<void> {
    const outcome = await this.#outcomes.get(name);
    if (outcome?.error) throw new Error(outcome.error);
  }
}

function namesIn(script: string): string[] {
  const plain = [...script.matchAll(/^@row\("(.+)"\)$/gm)].map(([, name]) => name ?? '');
  const modes = [...script.matchAll(/^stream_row\(\s*\*?\(?"([\w-]+)"/gm)].map(
    ([, mode]) => `streams ${mode}`,
  );
  const strategies = [...script.matchAll(/^@lambda check: strategy_row\("\w+", "(.+)", check\)$/gm)];
  return [...plain, ...modes, ...strategies.map(([, name]) => name ?? '')];
}

const checked = new Map<string, PythonChecks>();

function checksOf(target: Target, names: readonly string[]): PythonChecks {
  const known = checked.get(target.url) ?? new PythonChecks(target, names);
  checked.set(target.url, known);
  return known;
}

const NAMES = namesIn(readFileSync(SCRIPT, 'utf8'));

export const PYTHON_ROWS: readonly Row[] = NAMES.map((name) => {
  const isRemote = name.startsWith('RemoteGraph ');
  return {
    client: isRemote ? 'RemoteGraph in Python' : 'Python SDK',
    name: isRemote ? name.slice('RemoteGraph '.length) : name,
    check: (target) => checksOf(target, NAMES).expect(name),
    ...(python ? {} : { missing: HOW }),
  };
});
