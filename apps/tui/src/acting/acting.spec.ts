import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { KubeClient, type KubeConnection, loadKubeConnection, type Untyped } from '#lib/kube';
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, type ResourceRef, RESOURCES } from '#lib/resources';
import { temporaryFolder, testEmbeddedKube } from '#lib/testing';
import { systemClock } from '#lib/time';
import { findView } from '../views/all-views.js';
import type { Hands } from '../views/common-actions.js';
import type { View } from '../views/view.js';
import type { Item } from '../world/items.js';
import { Favourites } from './favourites.js';
import { KubeDeeds } from './kube-deeds.js';

const CRDS = resolve(import.meta.dirname, '..', '..', '..', '..', 'crds');
const KEY = { namespace: 'ws-one', name: 'lake' };

/** Deeds at a real API server; nothing reconciles. */
describe('KubeDeeds', () => {
  const kube = testEmbeddedKube();
  const folder = temporaryFolder();
  let client: KubeClient;
  let connection: KubeConnection;
  let editors = 0;

  function viewOf(name: string): View {
    const view = findView(name);
    if (!view) throw new Error(`no view ${name}`);
    return view;
  }

  /** An editor that changes the file by a shell line; `$1` is the file. */
  function editorOf(line: string): string {
    const path = join(folder, `editor-${++editors}.sh`);
    writeFileSync(path, `#!/bin/sh\n${line}\n`, { mode: 0o700 });
    return path;
  }

  function deeds(editor = 'true', by = client): KubeDeeds {
    return new KubeDeeds({
      client: by,
      connection,
      kubeconfigPath: kube.kubeconfigPath,
      favourites: new Favourites(join(folder, 'settings', 'dashboard.json'), connection.server),
      rest: undefined,
      clock: systemClock,
      editor,
      openUrl: async (url) => url,
      pulse: undefined,
      folder,
    });
  }

  async function lake(): Promise<Item> {
    return await client.get(RESOURCES.BulkExportDestination, KEY);
  }

  async function edit(editor: string): Promise<string> {
    const done = await deeds(editor).edit(viewOf('destinations'), [await lake()], (run) => run());
    return done.text;
  }

  beforeAll(async () => {
    connection = await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'agentplane-dashboard' });
    for (const name of readdirSync(CRDS).filter((file) => file.endsWith('.yaml')))
      await client.apply(
        CUSTOM_RESOURCE_DEFINITIONS as ResourceRef as ResourceRef<Untyped>,
        parse(readFileSync(join(CRDS, name), 'utf8')) as Untyped,
      );
    await client.create(NAMESPACES, { metadata: { name: KEY.namespace } });
    await client.create(
      RESOURCES.BulkExportDestination,
      {
        metadata: { ...KEY, labels: { team: 'a', kept: 'yes', resourceVersion: 'b' } },
        spec: {
          type: 'object_store',
          config: { bucketName: 'lake', prefix: 'runs', includeBucketInPrefix: false },
          displayName: 'Lake',
        },
      },
      { fieldManager: 'someone-else' },
    );
  });
  afterAll(() => client.close());

  it('applies what was edited, and removes what was taken out, also of other writers', async () => {
    const said = await edit(
      editorOf(
        `sed -i -e 's/displayName: Lake/displayName: Pond/' -e '/team: a/d' -e '/resourceVersion: b/d' "$1"`,
      ),
    );
    expect(said).toBe('lake changed');
    const { metadata, spec } = (await lake()) as Item & { spec: { displayName: string; config: object } };
    expect(spec.displayName).toBe('Pond');
    expect(spec.config).toMatchObject({ bucketName: 'lake', prefix: 'runs', includeBucketInPrefix: false });
    expect(metadata.labels).toEqual({ kept: 'yes' });
  });

  it('changes nothing when the text is left as it was, or emptied', async () => {
    const before = (await lake()).metadata.resourceVersion;
    expect(await edit('true')).toBe('lake was not changed');
    expect(await edit(editorOf(': > "$1"'))).toBe('lake was not changed');
    expect((await lake()).metadata.resourceVersion).toBe(before);
  });

  it('shows a refusal in the editor, until the text is taken', async () => {
    const rounds = join(folder, 'rounds');
    const script = [
      `cat "$1" >> ${rounds}`,
      `if grep -q 'displayName: Bay' "$1" || grep -q 'type: nonsense' "$1"; then sed -i 's/type: nonsense/type: object_store/' "$1"`,
      `else sed -i -e 's/displayName: .*/displayName: Bay/' -e 's/type: object_store/type: nonsense/' "$1"; fi`,
    ].join('\n');
    expect(await edit(editorOf(script))).toBe('lake changed');
    expect(readFileSync(rounds, 'utf8')).toMatch(/^# .*nonsense/m);
    expect(((await lake()) as Item & { spec: { displayName: string } }).spec.displayName).toBe('Bay');
  });

  it('saves lines into a file that only its owner reads, without what a terminal obeys', async () => {
    const { text } = await deeds().save('logs of ws-one/lake', ['one', 'two\u001b[2J']);
    const [, path = ''] = /^saved to (.*\/agentplane-logs-of-ws-one-lake-[\dTZ]+\.txt)$/.exec(text) ?? [];
    expect(dirname(path)).toBe(folder);
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\\u001b[2J\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('refuses another name, and reports an editor that fails', async () => {
    const script = `if grep -q '^# kind, name' "$1"; then : > "$1"; else sed -i 's/name: lake/name: other/' "$1"; fi`;
    expect(await edit(editorOf(script))).toBe('lake was not changed');
    await expect(edit('false')).rejects.toThrow(/^the editor false ended with exit code 1$/);
  });

  it('keeps what was typed when the editor fails', async () => {
    const script = editorOf(`sed -i 's/displayName: .*/displayName: Long thought/' "$1"; exit 3`);
    const problem = await edit(script).then(String, (error: unknown) => String(error));
    const [, path = ''] = /exit code 3; what was typed is kept in (.*)$/.exec(problem) ?? [];
    expect(readFileSync(path, 'utf8')).toContain('displayName: Long thought');
    rmSync(dirname(path), { recursive: true });
  });

  it('opens a shell in a pod by a command over the same cluster', async () => {
    const shell = viewOf('pods').actions.find(({ key }) => key === 's');
    const ran: string[] = [];
    const hands = { run: async (words: readonly string[]) => void ran.push(...words) } as unknown as Hands;
    const pod = { metadata: { namespace: 'ws-one', name: 'p' }, status: { phase: 'Running' } } as Item;
    expect(await shell?.perform(pod, hands, 0)).toBe('the shell in p ended');
    expect(ran.join(' ')).toBe('exec pod/p -n ws-one -it -- sh');
    expect(shell?.refusal?.({ ...pod, status: { phase: 'Pending' } } as Item)).toBe('it does not run');
  });

  it('makes a port of a pod reachable on this machine', async () => {
    const pod = { metadata: { namespace: 'ws-one', name: 'p' } } as Item;
    const { text } = await deeds().perform(viewOf('pods'), 'F', [pod], '8000', (run) => run());
    const [, port] = /^127\.0\.0\.1:(\d+) leads to port 8000 of p$/.exec(text) ?? [];
    // no such pod exists, so the connection ends
    await expect(fetch(`http://127.0.0.1:${port ?? ''}`)).rejects.toThrow();
  });

  it.each([
    ['pods', 'F', 'http', 'cannot forward p: the port of the pod must be a whole number from 1 to 65535'],
    ['pods', 'F', '0', 'cannot forward p: the port of the pod must be a whole number from 1 to 65535'],
    ...['many', '', '1e3', '-1', '1001', '١'].map((text) => [
      'deployments',
      's',
      text,
      `cannot scale p: the least number of pods must be a whole number from 0 to 1000`,
    ]),
  ])('refuses what is no such number: %s, %s, %j', async (view = '', key = '', answer = '', text = '') => {
    const item = { metadata: { namespace: 'ws-one', name: 'p' } } as Item;
    expect(await deeds().perform(viewOf(view), key, [item], answer, (run) => run())).toEqual({
      text,
      isProblem: true,
    });
  });

  it('keeps favourite namespaces for the next time', async () => {
    const workspace = (name: string): Item =>
      ({ metadata: { name }, status: { namespace: `ws-${name}` } }) as unknown as Item;
    const toggle = async (name: string): Promise<string> =>
      (await deeds().perform(viewOf('workspaces'), 'f', [workspace(name)], '', (run) => run())).text;
    expect([await toggle('two'), await toggle('one')]).toEqual(['1 shows two', '2 shows one']);
    expect(deeds().favourites()).toEqual(['ws-two', 'ws-one']);
    expect(await toggle('two')).toBe('two is no favourite');
    expect(deeds().favourites()).toEqual(['ws-one']);
  });

  it('deletes the object that was shown, and not another of its name', async () => {
    const shown = await lake();
    const former = { ...shown, metadata: { ...shown.metadata, uid: '00000000-0000-4000-8000-000000000000' } };
    const { text, isProblem } = await deeds().perform(viewOf('destinations'), 'ctrl-d', [former], '', (run) =>
      run(),
    );
    expect([isProblem, text]).toEqual([true, expect.stringMatching(/^cannot delete lake: .*uid/i)]);
    expect((await lake()).metadata.uid).toBe(shown.metadata.uid);
  });

  it('tests a destination again, and deletes it', async () => {
    const view = viewOf('destinations');
    expect(await deeds().perform(view, 't', [await lake()], '', (run) => run())).toEqual({
      text: 'lake is tested again',
      isProblem: false,
    });
    expect((await lake()).metadata.annotations).toHaveProperty(['agentplane.dev/test-request']);
    const gone = await deeds().perform(view, 'ctrl-d', [await lake()], '', (run) => run());
    expect(gone.text).toBe('deletion of lake requested');
    expect(await client.find(RESOURCES.BulkExportDestination, KEY)).toBeUndefined();
  });

  it('asks for the right first, and says which is missing', async () => {
    const account: ResourceRef = {
      group: '',
      version: 'v1',
      plural: 'serviceaccounts',
      kind: 'ServiceAccount',
      namespaced: true,
    };
    await client.create(account as ResourceRef<Untyped>, {
      metadata: { name: 'reader', namespace: KEY.namespace },
    });
    const { token } = await client.createToken({ namespace: KEY.namespace, name: 'reader' });
    const { clientCertificate: _c, clientKey: _k, ...connection } = client.connection;
    const reader = new KubeClient({
      ...connection,
      auth: { authorization: () => Promise.resolve(`Bearer ${token}`) },
    });
    const item: Item = { metadata: { ...KEY, name: 'sea' } };
    const refused = await deeds('true', reader).perform(viewOf('destinations'), 'ctrl-d', [item], '', (run) =>
      run(),
    );
    expect(refused).toEqual({
      text: 'cannot delete sea: this account may not delete bulkexportdestinations in ws-one',
      isProblem: true,
    });
    await reader.close();
  });
});
