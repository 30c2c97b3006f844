import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PLATFORM_VERSION } from '#lib/config';
import { temporaryFolder } from '#lib/testing';
import { repository } from '../support/platform.js';

const hasBuildah =
  process.getuid?.() === 0 && spawnSync('buildah', ['info'], { stdio: 'ignore' }).status === 0;
const NAME = 'localhost/my-agent:1';

// nothing that CI installs brings it
if (!hasBuildah) process.stderr.write('\n*** LEFT OUT: image build needs root and buildah.\n\n');

function copyInto(root: string, path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  copyFileSync(path, join(root, path));
}

(hasBuildah ? describe : describe.skip)('agentplane image build', () => {
  const work = temporaryFolder();
  const folder = join(work, 'agent');
  const storage = join(work, 'storage.conf');
  // a store of its own, by the driver that works on every file system
  const env = { ...process.env, CONTAINERS_STORAGE_CONF: storage, BUILDAH_ISOLATION: 'chroot' };

  function run(program: string, ...words: readonly string[]): { code: number | null; text: string } {
    const { status, stdout, stderr } = spawnSync(program, words, { env, cwd: repository, encoding: 'utf8' });
    return { code: status, text: `${stdout}${stderr}` };
  }
  const buildah = (...words: readonly string[]): string => {
    const { code, text } = run('buildah', ...words);
    if (code !== 0) throw new Error(`buildah ${words.join(' ')} failed: ${text}`);
    return text.trim();
  };
  const build = (...words: readonly string[]) =>
    run(process.execPath, 'bin/agentplane.js', 'image', 'build', ...words, '--with', 'buildah');

  beforeAll(() => {
    const [graphroot, runroot] = [join(work, 'images'), join(work, 'run')];
    writeFileSync(storage, `[storage]\ndriver = "vfs"\ngraphroot = "${graphroot}"\nrunroot = "${runroot}"\n`);
    mkdirSync(folder);
    writeFileSync(join(folder, 'langgraph.json'), JSON.stringify({ graphs: { agent: './agent.mjs:graph' } }));
    writeFileSync(join(folder, 'agent.mjs'), 'export const graph = undefined;\n');
    writeFileSync(join(folder, '.env'), 'KEY=secret\n');
    // stands for the platform's image, whose making needs packages: a shell is all that a step of the build needs here
    const files = execFileSync('ldd', ['/bin/sh'], { encoding: 'utf8' }).matchAll(/\/\S+/g);
    for (const path of ['/bin/sh', '/etc/passwd', ...[...files].map(([file]) => file)])
      copyInto(join(work, 'root'), path);
    const container = buildah('from', 'scratch');
    buildah('copy', container, join(work, 'root'), '/');
    buildah('config', '--entrypoint', '["node", "/app/main.js"]', '--user', '10001:10001', container);
    buildah('config', '--label', 'of=platform', '--workingdir', '/agent', container);
    buildah('commit', '--rm', '--quiet', container, `localhost/agentplane/agent:${PLATFORM_VERSION}`);
  });
  afterAll(() => {
    if (existsSync(storage)) buildah('rm', '--all');
  });

  it('puts the folder upon the image of the platform, without what holds secrets', () => {
    const built = build(NAME, folder, '--prefix', 'localhost/');
    expect([built.code, built.text]).toEqual([0, expect.stringContaining(`imageUri: ${NAME}`)]);
    expect(built.text).toMatch(/left out .*\.env/);
    const { OCIv1 } = JSON.parse(buildah('inspect', '--type', 'image', NAME)) as {
      readonly OCIv1: { readonly config: Readonly<Record<string, unknown>> };
    };
    expect(OCIv1.config).toMatchObject({
      Entrypoint: ['node', '/app/main.js'],
      User: '10001:10001',
      WorkingDir: '/agent',
      Labels: expect.objectContaining({ of: 'platform' }),
    });
    const container = buildah('from', NAME);
    const root = buildah('mount', container);
    expect(readdirSync(join(root, 'agent')).sort()).toEqual(['agent.mjs', 'langgraph.json']);
    buildah('umount', container);
  });

  it('fails with the word of the program that builds', () => {
    const missing = build(NAME, folder, '--prefix', 'localhost:1/nowhere/');
    expect([missing.code, missing.text]).toEqual([1, expect.stringMatching(/buildah bud failed/)]);
  });
});
