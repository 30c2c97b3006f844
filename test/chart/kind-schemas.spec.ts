import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { temporaryFolder } from '#lib/testing';
import { LOCATION, writeKindSchemas } from '../../scripts/chart/kind-schemas.mjs';
import { leaveOut } from '../support/kubectl.js';
import { repository } from '../support/platform.js';

const home = process.env.KUBE_HOME ?? join(homedir(), '.cache', 'agentplane', 'kube');
const kubeconform = join(home, 'bin', 'kubeconform');
const openapi = join(home, 'openapi.json');
const isThere = existsSync(kubeconform) && existsSync(openapi);

const POD = { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: 2, memory: '1Gi' } } }] };
const SERVICE = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' } };
const DEPLOYMENT = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: POD } },
};
const AGENT = { apiVersion: 'agentplane.dev/v1alpha1', kind: 'AgentDeployment', metadata: { name: 'a' } };
const SPEC = { source: 'external_image', sourceRevisionConfig: { imageUri: 'i' } };

/** By what it shows: the object, and the place of what is wrong, or an empty text. */
const ROWS: readonly (readonly [string, object, string])[] = [
  ['takes a workload', DEPLOYMENT, ''],
  [
    'takes a port by name and by number',
    {
      ...SERVICE,
      spec: {
        ports: [
          { port: 1, targetPort: 'http' },
          { port: 2, targetPort: 3 },
        ],
      },
    },
    '',
  ],
  [
    'refuses a field that a built-in kind lacks, deep in it',
    {
      ...DEPLOYMENT,
      spec: { ...DEPLOYMENT.spec, template: { spec: { ...POD, tolerations: [{ keys: 'k' }] } } },
    },
    '/spec/template/spec/tolerations/0',
  ],
  [
    'refuses a value of another type',
    { ...SERVICE, spec: { ports: [{ port: 'http' }] } },
    '/spec/ports/0/port',
  ],
  [
    'refuses a label that is no text',
    { ...SERVICE, metadata: { name: 's', labels: { a: 1 } } },
    '/metadata/labels/a',
  ],
  ['takes an agent', { ...AGENT, spec: SPEC }, ''],
  ['refuses a field that a kind of ours lacks', { ...AGENT, spec: { ...SPEC, imageUri: 'i' } }, '/spec'],
  [
    'refuses a word that a kind of ours does not know',
    { ...AGENT, spec: { ...SPEC, source: 'svn' } },
    '/spec/source',
  ],
  ['refuses a kind without a schema', { ...AGENT, kind: 'AgentDeploymnt' }, 'could not find schema'],
];

if (!isThere) leaveOut('kubeconform');

(isThere ? describe : describe.skip)('schemas of kinds', () => {
  const folder = temporaryFolder();
  const crds = readdirSync(join(repository, 'crds'))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => parse(readFileSync(join(repository, 'crds', name), 'utf8')) as object);

  it.each(ROWS)('%s', (_what, object, place) => {
    const file = join(folder, 'object.json');
    writeFileSync(file, JSON.stringify(object));
    writeKindSchemas(folder, [object], JSON.parse(readFileSync(openapi, 'utf8')), crds);
    const args = ['-strict', '-output', 'json', '-schema-location', join(folder, LOCATION), file];
    const { status, stdout } = spawnSync(kubeconform, args, { encoding: 'utf8' });
    expect([status, stdout]).toEqual([place === '' ? 0 : 1, expect.stringContaining(place)]);
  });
});
