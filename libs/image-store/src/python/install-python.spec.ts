import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { openImageStore } from '../image-store.js';

const DATA = join(import.meta.dirname, '..', '..', 'testdata', 'python');
const python = process.env['AGENTPLANE_TEST_PYTHON'];
if (!python)
  process.stderr.write('SKIPPED: environments of Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

(python ? describe : describe.skip)('the environment of a Python agent', () => {
  const root = temporaryFolder();
  const wheels = join(root, 'wheels');
  const images = join(root, 'images');
  const before = process.env;
  let made = 0;
  const installs: string[] = [];
  const lines: string[] = [];

  beforeAll(() => {
    const packages = [
      'langgraph==1.0',
      'small==1.0',
      'small==2.0',
      'asks==1.0:small',
      'other==1.0',
      'hook==1.0',
    ];
    execFileSync(python ?? '', [join(DATA, 'make-wheels.py'), wheels, ...packages]);
    // not the names that a version manager leaves, each of which starts a shell
    const PATH = `${dirname(realpathSync(python ?? ''))}:/usr/bin:/bin`;
    process.env = { ...before, PATH, PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels };
  });
  afterAll(() => {
    process.env = before;
  });

  function agentFolder(files: Readonly<Record<string, string>>, more: object = {}): string {
    const folder = join(root, `agent-${made++}`);
    const configuration = { dependencies: ['.'], graphs: { a: './agent.py:graph' }, ...more };
    const all = { 'langgraph.json': JSON.stringify(configuration), 'agent.py': 'graph = 1', ...files };
    for (const [name, text] of Object.entries(all)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    return folder;
  }

  async function add(source: string, folder = images): Promise<string> {
    const store = openImageStore({ folder, installation: join(root, 'installation') });
    const image = await store.import('agent', source, {
      onInstall: () => installs.push(source),
      onLine: (line) => lines.push(line),
    });
    const reader = { namespace: 'ws', gid: undefined };
    return (await store.resolve(image.reference, reader))?.folder ?? '';
  }

  const versionIn = (image: string, name: string): string =>
    execFileSync(join(image, '.venv', 'bin', 'python'), [
      '-I',
      '-c',
      `import ${name}; print(${name}.VERSION)`,
    ])
      .toString()
      .trim();

  it('holds what requirements.txt asks for, and LangGraph', async () => {
    const files = {
      'requirements.txt': '# what it needs\nasks\n-r more.txt # others\n-e .\n',
      'more.txt': '--constraint limits.txt\nother; python_version > "3"\n',
      'limits.txt': 'small<2\n',
      '__pycache__/agent.pyc': 'x',
    };
    const image = await add(agentFolder(files));
    expect(['small', 'asks', 'other', 'langgraph'].map((name) => versionIn(image, name))).toEqual([
      '1.0',
      '1.0',
      '1.0',
      '1.0',
    ]);
    expect(readdirSync(image)).not.toContain('__pycache__');
    expect(lines.join('\n')).toMatch(/Installing collected packages: .*asks/);
    // agents may be other users than the platform
    const environment = realpathSync(join(image, '.venv'));
    expect(statSync(environment).mode & 0o005).toBe(0o005);
    expect(statSync(dirname(environment)).mode & 0o001).toBe(0o001);
    expect(readdirSync(environment).filter((name) => name.endsWith('.txt'))).toEqual([]);
    const packages = join(
      environment,
      'lib',
      readdirSync(join(environment, 'lib'))[0] ?? '',
      'site-packages',
    );
    expect(readdirSync(packages).filter((name) => /^(pip|setuptools)/.test(name))).toEqual([]);
  });

  it('installs nothing again for the same list, has commands that outlive a move, and replaces an interpreter that was removed', async () => {
    const folder = join(root, 'moved');
    const lists = { 'pyproject.toml': '[project]\nname = "x"\ndependencies = ["small>1"]\n' };
    installs.length = 0;
    const first = await add(agentFolder(lists), folder);
    const second = await add(agentFolder({ ...lists, 'agent.py': 'graph = "edited"' }), folder);
    expect(installs).toHaveLength(1);
    expect(second).not.toBe(first);
    expect(realpathSync(join(second, '.venv'))).toBe(realpathSync(join(first, '.venv')));
    const elsewhere = `${folder}-elsewhere`;
    renameSync(folder, elsewhere);
    const command = join(second.replace(folder, elsewhere), '.venv', 'bin', 'small-command');
    expect(execFileSync(command).toString()).toBe('2.0\n');

    const image = second.replace(folder, elsewhere);
    const interpreter = join(image, '.venv', 'bin', 'python');
    rmSync(interpreter);
    symlinkSync('/nonexistent/python', interpreter);
    rmSync(realpathSync(join(image, '.venv')), { recursive: true });
    await add(agentFolder({ ...lists, 'agent.py': 'graph = "edited"' }), elsewhere);
    expect(versionIn(image, 'langgraph')).toBe('1.0');
  });

  it('takes exactly what a lock file names', async () => {
    const hash = execFileSync(python ?? '', [
      '-m',
      'pip',
      'hash',
      join(wheels, 'small-1.0-py3-none-any.whl'),
    ]);
    const digest = /--hash=(\S+)/.exec(hash.toString())?.[1] ?? '';
    const lock = (one: string): string =>
      [
        'version = 1\n[[package]]\nname = "x"\nversion = "1"\nsource = { virtual = "." }',
        'dependencies = [{ name = "small" }]\n[[package]]\nname = "small"\nversion = "1.0"',
        `source = { registry = "https://index.test" }\nwheels = [{ url = "x", hash = "${one}" }]`,
      ].join('\n');
    const image = await add(agentFolder({ 'uv.lock': lock(digest) }, { dependencies: ['.', 'asks'] }));
    expect(versionIn(image, 'small')).toBe('1.0');
    const other = `sha256:${'0'.repeat(64)}`;
    await expect(add(agentFolder({ 'uv.lock': lock(other) }))).rejects.toThrow(
      /pip could not install .*HASHES/s,
    );
  });

  it('runs no code of locked packages while it installs the others', async () => {
    const hash = execFileSync(python ?? '', ['-m', 'pip', 'hash', join(wheels, 'hook-1.0-py3-none-any.whl')]);
    const digest = /--hash=(\S+)/.exec(hash.toString())?.[1] ?? '';
    const image = await add(agentFolder({ 'requirements.txt': `hook==1.0 --hash=${digest}\n` }));
    expect(['hook', 'langgraph'].map((name) => versionIn(image, name))).toEqual(['1.0', '1.0']);
    // those that were just started, and no installer
    const ran = readFileSync(join(wheels, 'ran'), 'utf8').trim().split('\n');
    expect([...new Set(ran)]).toEqual(["['-c']"]);
  });

  it.each<[string, Record<string, string>, object, RegExp]>([
    [
      'a version of Python that the machine does not have',
      {},
      { python_version: '3.99' },
      /need Python 3\.99; this machine has 3\..*python3\.99-venv; any system: uv python install 3\.99\) or change "python_version"/,
    ],
    [
      'a package that does not exist',
      { 'requirements.txt': 'missing' },
      {},
      /No matching distribution found for missing.*--build-packages/s,
    ],
    [
      'a package that is built from sources',
      { 'requirements.txt': 'small @ git+https://index.test/small' },
      {},
      /requirements\.txt: "small @ git.* is built from sources.*--build-packages/,
    ],
    [
      'a project that is not for this Python',
      { 'pyproject.toml': '[project]\nrequires-python = ">=3.99"\ndependencies = []' },
      {},
      /pyproject\.toml asks for Python >=3\.99, and this is Python 3/,
    ],
    [
      'a folder of the project that is not imported',
      { 'requirements.txt': './lib' },
      {},
      /names the folder lib; add "\.\/lib" to "dependencies"/,
    ],
    ['a file that is no TOML', { 'pyproject.toml': '[' }, {}, /pyproject\.toml is not TOML/],
    ['an option in the place of a package', {}, { dependencies: ['-r x'] }, /"-r x" is neither a folder/],
    ['a folder outside', {}, { dependencies: ['../x'] }, /\.\.\/x is outside the agent's folder/],
    ['packages of a build', { 'setup.py': '' }, {}, /it has setup\.py alone/],
    ['a missing file for pip', {}, { pip_config_file: 'pip.conf' }, /pip\.conf does not exist/],
  ])('refuses %s', async (_what, files, more, message) => {
    await expect(add(agentFolder(files, more))).rejects.toThrow(message);
  });

  it('leaves out what the agent server replaces, takes a Python that the lists allow, and says so', async () => {
    const list =
      '[project]\nname = "x"\nrequires-python = ">=3.10"\ndependencies = ["small", "langgraph-cli[inmem]>=0.3", "Blockbuster"]\n';
    const source = agentFolder({ 'pyproject.toml': list }, { python_version: '3.99' });
    const store = openImageStore({ folder: images, installation: join(root, 'installation') });
    const { notes } = await store.import('agent', source);
    expect([...notes].sort()).toEqual([
      expect.stringMatching(
        /^"python_version" of langgraph\.json asks for 3\.99, which this machine does not have: Python 3\.\d+\.\d+ is used, which pyproject\.toml \(>=3\.10\) allows$/,
      ),
      'left out, since the agent server does their work: blockbuster, langgraph-cli',
    ]);
    expect((await store.find('agent'))?.notes).toEqual(notes);
  });

  it('takes the members of a workspace that a lock names', async () => {
    const lock = [
      'version = 1\n[[package]]\nname = "x"\nversion = "1"\nsource = { virtual = "." }',
      'dependencies = [{ name = "member" }]\n[[package]]\nname = "member"\nversion = "1"',
      'source = { editable = "packages/member" }',
    ];
    const source = agentFolder({ 'uv.lock': lock.join('\n') });
    mkdirSync(join(source, 'packages', 'member'), { recursive: true });
    expect(await add(source)).toMatch(/sha256-/);
  });

  it('waits for an index that does not answer', async () => {
    const asked = process.env;
    process.env = { ...before, PIP_INDEX_URL: 'http://127.0.0.1:9/simple', PIP_RETRIES: '1' };
    delete process.env['PIP_FIND_LINKS'];
    try {
      await expect(add(agentFolder({ 'requirements.txt': 'unknown-package' }))).rejects.toMatchObject({
        reason: 'DependencyUnavailable',
        message: expect.stringContaining('connection refused') as unknown,
      });
    } finally {
      process.env = asked;
    }
  });

  const read = (folder: string, list: string): { lines: string[]; folders: string[] } => {
    const script = join(DATA, '..', '..', 'python', 'listed_packages.py');
    const words = ['-I', script, folder, list, python ?? ''];
    return JSON.parse(execFileSync(python ?? '', words).toString()) as { lines: string[]; folders: string[] };
  };

  it('names the interpreter whose pip lacks what reads lists', () => {
    const script = join(DATA, '..', '..', 'python', 'listed_packages.py');
    // without its packages, pip among them
    const words = ['-I', '-S', script, join(DATA, 'uv'), 'uv.lock', python ?? ''];
    const { refused } = JSON.parse(execFileSync(python ?? '', words).toString()) as { refused: string };
    expect(refused).toMatch(/^the list of packages cannot be read: .*python.* has no pip; install pip/);
  });

  it('holds what a list and a lock ask for by uv', async () => {
    const tools = join(root, 'tools');
    mkdirSync(tools);
    symlinkSync(join(dirname(python ?? ''), 'uv'), join(tools, 'uv'));
    const asked = process.env;
    const { PIP_NO_INDEX: _index, PIP_FIND_LINKS: _links, ...environment } = asked;
    const PATH = `${tools}:${asked['PATH']}`;
    const UV_CACHE_DIR = join(root, 'uv-cache');
    process.env = { ...environment, PATH, UV_OFFLINE: '1', UV_FIND_LINKS: wheels, UV_CACHE_DIR };
    try {
      lines.length = 0;
      const more = { pip_installer: 'uv' };
      const image = await add(agentFolder({ 'requirements.txt': 'asks\nother==1.0\nsmall<2\n' }, more));
      expect(['small', 'asks', 'other', 'langgraph'].map((name) => versionIn(image, name))).toEqual([
        '1.0',
        '1.0',
        '1.0',
        '1.0',
      ]);
      expect(lines.join('\n')).toMatch(/Resolved \d+ packages/);
      await expect(add(agentFolder({ 'requirements.txt': 'unknown-package' }, more))).rejects.toMatchObject({
        reason: 'InstallFailed',
        message: expect.stringContaining('uv could not install') as unknown,
      });
    } finally {
      process.env = asked;
    }
  });

  it('reads locks of uv, with extras and without what is for development or other systems', () => {
    const { lines: found } = read(join(DATA, 'uv'), 'uv.lock');
    const names = found.map((line) => line.split('==')[0]);
    expect(names).toEqual(expect.arrayContaining(['anyio', 'requests', 'pysocks', 'certifi']));
    for (const other of ['colorama', 'iniconfig', 'my-agent']) expect(names).not.toContain(other);
    expect(found.every((line) => line.includes(' --hash=sha256:'))).toBe(true);
    expect(readFileSync(join(DATA, 'uv', 'uv.lock'), 'utf8')).toContain('name = "iniconfig"');
  });

  it.each(['poetry', 'poetry-1'])('reads locks of %s, without what is for development', (kind) => {
    const { lines: found } = read(join(DATA, kind), 'poetry.lock');
    expect(found.map((line) => line.split(' ')[0])).toEqual(['asks==1.0', 'extra==1.0', 'small==1.0']);
  });

  it('takes ranges of Poetry for those of everybody', () => {
    const meant = {
      '^1.2.3': '>=1.2.3,<2',
      '^0.2': '>=0.2,<0.3',
      '^0.0.3': '>=0.0.3,<0.0.4',
      '~1.2': '>=1.2,<1.3',
      '~1': '>=1,<2',
      '*': '',
      '1.2.*': '==1.2.*',
      '1.2': '==1.2',
      '>=1.0,<2': '>=1.0,<2',
      '>=1.0 <2': '>=1.0,<2',
      '!=1.5': '!=1.5',
    };
    const lists = Object.keys(meant).map((range, at) => `small${at} = "${range}"\n`);
    const folder = agentFolder({ 'pyproject.toml': `[tool.poetry.dependencies]\n${lists.join('')}` });
    const lines = Object.values(meant).map((range, at) => `small${at}${range}`);
    expect(read(folder, 'pyproject.toml').lines).toEqual(lines);
  });
});
