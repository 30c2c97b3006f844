import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { type FakeModels, startFakeModels } from '../../apps/cli/src/check/fake-models.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { agentFolders, renderTrials, TemplateTrial, type Trial } from './template-trial.js';

const OWN = join(import.meta.dirname, 'agents');
const LOCKS = ['uv.lock', 'yarn.lock'];
const PYTHON = process.env['AGENTPLANE_TEST_PYTHON'] ?? 'python3';
const PIP = 'from pip._internal.models.index import PyPI; print(PyPI.netloc, PyPI.file_storage_domain)';

/** Copies our own agents, with the hosts that npm and pip know in their lock files, which name none. */
function ownAgents(folder: string): string {
  const copies = join(folder, 'agents');
  cpSync(OWN, copies, { recursive: true });
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  const [index = '', files = ''] = execFileSync(PYTHON, ['-c', PIP], { encoding: 'utf8' }).trim().split(' ');
  for (const path of [...agentFolders(copies)].flatMap((one) => LOCKS.map((lock) => join(one, lock)))) {
    if (!existsSync(path)) continue;
    const text = readFileSync(path, 'utf8')
      .replaceAll('npm.host.invalid', new URL(registry).host)
      .replaceAll('index.host.invalid', index)
      .replaceAll('files.host.invalid', files);
    writeFileSync(path, text);
  }
  return copies;
}

/** Agents as people publish them: `npm run test:long -- templates --from FOLDER` takes those of a folder. */
describe('public agents', () => {
  const scratch = temporaryFolder();
  const given = process.env['AGENTPLANE_TEST_TEMPLATES'] ?? OWN;
  const root = given === OWN ? ownAgents(temporaryFolder()) : given;
  const trials: Trial[] = [];
  let platform: Platform | undefined;
  let models: FakeModels | undefined;

  beforeAll(async () => {
    models = await startFakeModels();
    platform = await startPlatform(newDataFolder(), {
      environment: { AGENTPLANE_SPARES: '0' },
    });
  });

  afterAll(async () => {
    process.stdout.write(`\n${renderTrials(trials)}`);
    await platform?.stop();
    await models?.close();
    if (platform) removeDataFolder(platform.dataFolder);
  });

  const folders = [...agentFolders(root)];
  it.each(folders.map((folder, number) => [folder.slice(root.length + 1) || '.', folder, number] as const))(
    'deploys and runs %s',
    async (_name, folder, number) => {
      if (!platform || !models) throw new Error('the platform is up only inside tests');
      const trial = await new TemplateTrial(root, folder, { platform, models, scratch }, number).perform();
      trials.push(trial);
      expect(trial).toMatchObject({ deploys: true, answers: true, trouble: '' });
    },
  );
});
