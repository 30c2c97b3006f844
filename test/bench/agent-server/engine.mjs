// The engine alone: the graph of tokens in a process of its own, each event made to JSON and thrown away.
// node engine.mjs RUNS: prints the CPU milliseconds of one run.
import { tokens } from '../agents/tokens/graphs.mjs';

const runs = Number(process.argv[2]);

async function one() {
  let characters = 0;
  const input = { messages: [{ role: 'user', content: 'hello' }] };
  for await (const chunk of await tokens.stream(input, { streamMode: ['values', 'messages'] }))
    characters += JSON.stringify(chunk).length;
  if (characters < 1000) throw new Error('no output');
}

for (let run = 0; run < 20; run++) await one();
const before = process.cpuUsage();
for (let run = 0; run < runs; run++) await one();
const { user, system } = process.cpuUsage(before);
process.stdout.write(`${(user + system) / 1000 / runs}\n`);
