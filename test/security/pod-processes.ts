import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PODS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { descendants } from '../support/process-tree.js';
import type { Arena, FindArena } from './arena.js';

/** Runs in a pod of the attacker: prints what it can read, and whom it can signal. */
const SPY = `
const fs = require('node:fs');
const { paths, pids, folders } = JSON.parse(process.env.TARGETS);
const say = (line) => console.log(line);
say('uid ' + process.getuid());
for (const path of paths) try { fs.readFileSync(path); say('READ ' + path); } catch {}
for (const path of folders) try { fs.readdirSync(path); say('LISTED ' + path); } catch {}
for (const path of folders) try { fs.writeFileSync(path + '/planted', 'x'); say('WROTE ' + path); } catch {}
for (const pid of pids) {
  try { process.kill(pid, 0); say('SIGNALS ' + pid); } catch {}
  for (const name of ['environ', 'mem', 'maps']) try {
    fs.closeSync(fs.openSync('/proc/' + pid + '/' + name)); say('OPENED ' + name + ' of ' + pid);
  } catch {}
}
try { process.setuid(0); say('ROOT'); } catch {}
try { fs.readFileSync('/proc/self/environ'); say('own'); } catch {}
say('done');
`;

/** What belongs to the platform or to another tenant on this machine: all but the attacker's own agents. */
async function findTargets({ platform, kube, attacker }: Arena) {
  const { dataFolder, process } = platform;
  const at = (path: string) => join(dataFolder, path);
  const { items } = await kube.list(PODS, { namespace: attacker.namespace });
  const own = items
    .filter(({ spec }) => spec.automountServiceAccountToken === false)
    .map(({ metadata }) => metadata.uid ?? '');
  const agents = own.flatMap((uid) => {
    const file = at(`node/pods/${uid}/agent.process.json`);
    return existsSync(file) ? [(JSON.parse(readFileSync(file, 'utf8')) as { readonly pid: number }).pid] : [];
  });
  // with the processes that run their graphs
  const ownPids = new Set(agents.flatMap((pid) => [pid, ...descendants(pid).map((child) => child.pid)]));
  const pods = readdirSync(at('node/pods'))
    .filter((uid) => !own.includes(uid))
    .map((uid) => at(`node/pods/${uid}`));
  const image = items.find(({ metadata }) => own.includes(metadata.uid ?? ''))?.spec.containers[0]?.image;
  return {
    image: image ?? '',
    paths: [
      ...['credentials.json', 'kubeconfig', 'ports.json', 'node/kubeconfig', 'node/users.json'].map(at),
      ...['ca.key', 'postgres.json', 'service-account.key', 'encryption.key'].map((name) =>
        at(`secrets/${name}`),
      ),
      ...['api.kubeconfig', 'controller.kubeconfig'].map((name) => at(`kube/${name}`)),
      ...['api.log', 'up.log'].map((name) => at(`logs/${name}`)),
      ...pods.flatMap((pod) =>
        ['pod.json', 'token', 'kubeconfig', 'agent.process.json'].map((name) => join(pod, name)),
      ),
    ],
    folders: [
      ...['secrets', 'kube', 'logs', 'objects', 'objects/agentplane', 'postgres', 'images', 'node'].map(at),
      ...pods.flatMap((pod) => [pod, join(pod, 'work'), join(pod, 'logs')]),
    ],
    pids: descendants(process.pid ?? 0)
      .map(({ pid }) => pid)
      .filter((pid) => !ownPids.has(pid)),
  };
}

/**
 * What the process of an agent can reach on the machine. Only a platform that root started has users to keep its pods
 * apart; elsewhere docs/design/process-runtime.md says that they are open to one another.
 */
export function attackFromPods(arena: FindArena): void {
  const isRoot = process.getuid?.() === 0 && process.platform === 'linux';
  (isRoot ? describe : describe.skip)('processes of pods', () => {
    it('cannot read, write or signal anything of the platform or of other tenants', async () => {
      const { kube, attacker } = arena();
      const { namespace } = attacker;
      const { image, ...targets } = await findTargets(arena());
      expect(targets.folders.length).toBeGreaterThan(14);
      expect(targets.pids.length).toBeGreaterThan(6);
      const name = `spy-${randomUUID().slice(0, 8)}`;
      await kube.create(PODS, {
        metadata: { name, namespace },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          containers: [
            {
              name: 'spy',
              image,
              command: [process.execPath, '-e', SPY],
              env: [{ name: 'TARGETS', value: JSON.stringify(targets) }],
            },
          ],
        },
      });
      await waitFor(
        async () => {
          const { status } = await kube.get(PODS, { namespace, name });
          return status?.phase === 'Succeeded' || status?.phase === 'Failed';
        },
        { what: 'the end of the spy' },
      );
      const lines = (await text(await kube.podLogs({ namespace, name }))).trim().split('\n');
      const [uid, ...rest] = lines;
      expect(uid).toMatch(/^uid [1-9]\d*$/);
      expect(rest).toEqual(['own', 'done']);
      await kube.delete(PODS, { namespace, name });
    });

    it('cannot start with rights of the machine', async () => {
      const { kube, attacker } = arena();
      const { namespace } = attacker;
      const specs = {
        'host-path': { volumes: [{ name: 'v', hostPath: { path: '/' } }] },
        'host-network': { hostNetwork: true },
        'host-pid': { hostPID: true },
        root: { securityContext: { runAsUser: 0 } },
      };
      for (const [name, spec] of Object.entries(specs)) {
        const container = { name: 'a', image: 'sample-agent', command: ['sleep', '60'] };
        await kube.create(PODS, {
          metadata: { name, namespace },
          spec: { restartPolicy: 'Never', containers: [container], ...spec },
        });
        const failed = await waitFor(
          async () => {
            const { status } = await kube.get(PODS, { namespace, name });
            return status?.conditions?.find(({ type }) => type.endsWith('/Supported'));
          },
          { what: 'the refusal of the pod' },
        );
        expect([name, failed.status]).toEqual([name, 'False']);
        await kube.delete(PODS, { namespace, name });
      }
    });
  });
}
