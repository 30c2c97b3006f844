// What Nest costs a program that follows Kubernetes: time to be there, CPU, and memory when idle, by how much of it is used.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readArguments } from './read-arguments.mjs';

const ROUNDS = 7;
const IDLE_MS = 1_500;
/** Each with all that stands before it. */
const VARIANTS = ['plain', 'context', 'server', 'schedule'];

async function startContext() {
  await import('reflect-metadata');
  const { Module } = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  class Root {}
  Module({})(Root);
  await NestFactory.createApplicationContext(Root, { logger: false });
}

async function startServer() {
  await import('reflect-metadata');
  const { Controller, Get, Module } = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  class Health {
    health() {
      return { status: 'ok' };
    }
  }
  Get('healthz')(Health.prototype, 'health', Object.getOwnPropertyDescriptor(Health.prototype, 'health'));
  Controller()(Health);
  class Root {}
  Module({ controllers: [Health] })(Root);
  const application = await NestFactory.create(Root, new FastifyAdapter(), {
    logger: false,
    bodyParser: false,
  });
  await application.listen(0, '127.0.0.1');
}

/** In a process of its own: loads what a listener loads, then what the variant adds. */
async function measure(variant) {
  for (const library of ['config', 'kube', 'lifecycle', 'manifests', 'telemetry'])
    await import(`#lib/${library}`);
  if (variant === 'context') await startContext();
  if (variant === 'server' || variant === 'schedule') await startServer();
  if (variant === 'schedule') await import('@nestjs/schedule');
  const readyMs = performance.now();
  const { user, system } = process.cpuUsage();
  await new Promise((resume) => setTimeout(resume, IDLE_MS));
  const memory = readFileSync('/proc/self/smaps_rollup', 'utf8');
  const mb = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(memory)?.[1] ?? 0) / 1024;
  return { readyMs, cpuMs: (user + system) / 1000, pssMb: mb('Pss'), anonymousMb: mb('Pss_Anon') };
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}

const { variant: asked } = readArguments(
  `npm run bench -- nest

What Nest costs a program that follows Kubernetes: time to be there, CPU, and memory when idle, by how much of it is used.`,
  { options: { variant: { type: 'string' } } },
).values;
if (VARIANTS.includes(asked)) {
  process.stdout.write(JSON.stringify(await measure(asked)));
  process.exit(0);
}
const results = new Map(VARIANTS.map((variant) => [variant, []]));
const options = ['--enable-source-maps', '--max-semi-space-size=4', fileURLToPath(import.meta.url)];
for (let round = 0; round < ROUNDS; round++)
  // in turns, so that what else the machine does meets each of them alike
  for (const [variant, rounds] of results)
    rounds.push(
      JSON.parse(execFileSync(process.execPath, [...options, '--variant', variant], { encoding: 'utf8' })),
    );
process.stdout.write('medians     ready, ms   CPU, ms   proportional, MB   anonymous, MB\n');
for (const [variant, rounds] of results) {
  const of = (what) => median(rounds.map((round) => round[what]));
  const columns = [
    of('readyMs').toFixed(0).padStart(9),
    of('cpuMs').toFixed(0).padStart(10),
    of('pssMb').toFixed(1).padStart(19),
    of('anonymousMb').toFixed(1).padStart(16),
  ];
  process.stdout.write(`${variant.padEnd(11)} ${columns.join('')}\n`);
}
