import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@langchain/langgraph-sdk';
import { waitFor } from '#lib/testing';
import { repository } from '../support/platform.js';

const PROGRAM = join(repository, 'bin', 'agentplane.js');

/** `agentplane dev`, left running. */
export class Dev {
  output = '';
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;

  constructor(folder: string, ...words: string[]) {
    this.child = spawn(process.execPath, [PROGRAM, 'dev', folder, ...words], {
      cwd: repository,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.ended = new Promise((resolve) => this.child.once('exit', resolve));
  }

  async ready(timeoutMs = 30_000): Promise<string> {
    await waitFor(() => /^ready in/m.test(this.output), {
      what: 'the agent',
      timeoutMs,
      intervalMs: 20,
    });
    return /API +(\S+)/.exec(this.output)?.[1] ?? '';
  }
}

/** What the agent answers last to a message in a thread. */
export async function sayTo(client: Client, threadId: string, content: string): Promise<string> {
  const input = { messages: [{ role: 'user', content }] };
  const values = (await client.runs.wait(threadId, 'agent', { input })) as {
    messages: { content: string }[];
  };
  return values.messages.at(-1)?.content ?? '';
}

/** Changes a place of a file. @throws Error when it is not there */
export function edit(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${path} does not contain ${from}`);
  writeFileSync(path, text.replace(from, to));
}
