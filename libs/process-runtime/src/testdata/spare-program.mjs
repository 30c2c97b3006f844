// A program that can be a spare; once it is launched it does what its variables say.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { Socket } from 'node:net';
import { becomeLaunched, SPARE } from '../../../../dist/libs/lifecycle/src/index.js';
import { claimAddress } from '../../../../dist/libs/held-sockets/src/index.js';

const isSpare = process.argv.includes(SPARE);
if (isSpare) {
  await becomeLaunched({
    warm: async () => undefined,
    async before({ environment: { FAULT } }) {
      if (FAULT === 'killed') process.kill(process.pid, 'SIGKILL');
      if (FAULT === 'silent') await new Promise(() => undefined);
      if (FAULT === 'failed') throw new Error('no such thing');
    },
  });
  new Socket({ fd: 3 }).on('close', () => process.exit(1)).resume();
} else process.on('disconnect', () => process.exit(1));

/** What the process is, as its kernel sees it. */
function facts() {
  const fields = (path) =>
    readFileSync(path, 'utf8').match(/^(Uid|Gid|Groups|CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs):.*$/gm);
  const threads = readdirSync('/proc/self/task').map((id) =>
    fields(`/proc/self/task/${id}/status`).join(' '),
  );
  let root = 'refused';
  try {
    process.setuid(0);
    root = 'became root';
  } catch {}
  const descriptors = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  return {
    isSpare,
    root,
    threads: [...new Set(threads)],
    descriptors,
    environment: process.env,
    cwd: process.cwd(),
  };
}

console.log('hello from the program');
console.error('and from its other stream');
const { HOST, PORT, EXIT_CODE, MEGABYTES } = process.env;
if (EXIT_CODE) process.exit(Number(EXIT_CODE));
if (MEGABYTES) globalThis.held = Buffer.alloc(Number(MEGABYTES) * 2 ** 20, 1);
createServer((_request, response) => response.end(JSON.stringify(facts()))).listen(
  claimAddress({ host: HOST, port: Number(PORT ?? 0) }),
);
