// A program that does what its variables say; the tests' stand-in for an agent.
import { createServer } from 'node:http';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const { HOST, PORT, EXIT_CODE, MESSAGE, IGNORE_TERM, EXIT_ONCE_FILE, HEALTH_FILE, LINES = '0' } = process.env;
console.log('hello from the program');
for (let line = 0; line < Number(LINES); line++) console.log(`line ${line}`);
console.error('and from its other stream');
if (MESSAGE) writeFileSync(process.env.TERMINATION_MESSAGE_PATH, MESSAGE);
if (IGNORE_TERM) process.on('SIGTERM', () => console.log('not yet'));
process.on('disconnect', () => process.exit(1));
if (EXIT_ONCE_FILE && !existsSync(EXIT_ONCE_FILE)) {
  writeFileSync(EXIT_ONCE_FILE, '');
  process.exit(7);
}
if (EXIT_CODE !== undefined) process.exit(Number(EXIT_CODE));

// as `claimAddress` of libs/held-sockets
const held = process.env.AGENTPLANE_HELD_SOCKETS?.split(',')
  .find((one) => one.startsWith(`${PORT}:`))
  ?.split(':')[1];
createServer((request, response) => {
  if (request.url === '/environment')
    return response.end(JSON.stringify({ ...process.env, cwd: process.cwd() }));
  if (request.url === '/kubeconfig') return response.end(readFileSync(process.env.KUBECONFIG, 'utf8'));
  const isHealthy = !HEALTH_FILE || existsSync(HEALTH_FILE);
  response.statusCode = isHealthy ? 200 : 500;
  response.end(isHealthy ? 'ok' : 'sick');
}).listen(held === undefined ? { port: Number(PORT ?? 0), host: HOST } : { fd: Number(held) });
