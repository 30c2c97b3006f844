import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { itLong, testEmbeddedKube } from '#lib/testing';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { dirname, join } from 'node:path';
import { findBuiltKubectl, findRealKubernetes, leaveOut } from '../support/kubectl.js';
import { RealCluster } from '../support/real-cluster.js';
import { takeTranscript, type TranscriptCluster, withSortedCauses } from './kubectl-transcript.js';

/*
 * The same kubectl commands against the embedded API server and a real one must print the same. Each folder of cases/
 * holds commands.txt, the files these use, and expected.txt: what the real server's transcript was. After a change of
 * the commands, UPDATE_TRANSCRIPTS=1 takes it again (from the real server, never from ours). `npm run test:long` checks
 * that the real server still gives them.
 */
// never the blocking kind: the embedded server lives in this process
const execute = promisify(execFile);
const root = join(import.meta.dirname, 'cases');
const cases = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const isUpdate = process.env.UPDATE_TRANSCRIPTS === '1';
const kubectl = findBuiltKubectl();
const real = findRealKubernetes();

/** A namespace of its own for each case; CRDs are shared by name, so the cases use different ones. */
async function clusterFor(
  kubeconfig: string,
): Promise<TranscriptCluster & { readonly end: () => Promise<void> }> {
  if (!kubectl) throw new Error('no kubectl');
  const namespace = `transcript-${randomBytes(4).toString('hex')}`;
  const home = mkdtempSync(join(tmpdir(), 'transcript-'));
  const admin = (...words: string[]) => execute(kubectl, ['--kubeconfig', kubeconfig, ...words]);
  await admin('create', 'namespace', namespace);
  // where no controller makes it
  await admin('-n', namespace, 'create', 'serviceaccount', 'default').catch(() => undefined);
  return {
    kubeconfig,
    namespace,
    home,
    bin: dirname(kubectl),
    end: async () => {
      await admin('delete', 'namespace', namespace, '--wait=false');
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function transcriptOf(name: string, kubeconfig: string): Promise<string> {
  const cluster = await clusterFor(kubeconfig);
  try {
    return await takeTranscript(join(root, name), cluster);
  } finally {
    await cluster.end();
  }
}

function expectedOf(name: string): string {
  const file = join(root, name, 'expected.txt');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

const describeWithKubectl = kubectl ? describe : describe.skip;
if (!kubectl) leaveOut('kubectl');

describeWithKubectl('kubectl prints the same with the embedded API server', () => {
  const server = testEmbeddedKube();

  it.each(cases.map(({ name }) => name))('%s', async (name) => {
    expect(withSortedCauses(await transcriptOf(name, server.kubeconfigPath))).toBe(
      withSortedCauses(expectedOf(name)),
    );
  });
});

const describeReal = real && kubectl ? describe : describe.skip;
if (!real) leaveOut('the real kube-apiserver');

describeReal('the transcripts are what a real kube-apiserver gives', () => {
  let cluster: RealCluster;
  beforeAll(() => {
    cluster = RealCluster.up(real ?? '');
  });
  afterAll(() => {
    cluster.down();
  });

  async function takeAgain(name: string): Promise<void> {
    const transcript = await transcriptOf(name, cluster.kubeconfig);
    if (isUpdate) writeFileSync(join(root, name, 'expected.txt'), transcript);
    expect(withSortedCauses(transcript)).toBe(withSortedCauses(expectedOf(name)));
  }

  (isUpdate ? it : itLong).each(cases.map(({ name }) => name))('%s', takeAgain);
});
