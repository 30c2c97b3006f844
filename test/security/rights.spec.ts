import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { buildListenerObjects, buildProgramBindings } from '#lib/manifests';
import * as words from '#lib/resources';
import { type Listener, type PolicyRule, type ResourceRef, RESOURCES } from '#lib/resources';

/** A role of ours, wherever it is written down. */
interface OurRole {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
}

const DEPLOY = join(process.cwd(), 'deploy');

function deployedRoles(): readonly OurRole[] {
  const found: OurRole[] = [];
  for (const file of readdirSync(DEPLOY).filter((name) => name.endsWith('.yaml')))
    for (const document of parseAllDocuments(readFileSync(join(DEPLOY, file), 'utf8'))) {
      const object = document.toJS() as {
        kind?: string;
        metadata?: { name: string };
        rules?: readonly PolicyRule[];
      };
      if (object.kind !== 'ClusterRole' && object.kind !== 'Role') continue;
      found.push({ name: `${object.kind} ${object.metadata?.name ?? ''}`, rules: object.rules ?? [] });
    }
  return found;
}

const LISTENER: Listener = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'Listener',
  metadata: { name: 'default', namespace: 'ws-x' },
  spec: { computeType: 'cluster', computeId: 'here' },
};
const settings = { version: '1', apiUrl: 'http://api', addresses: 'cluster-dns', imagePrefix: '' } as const;
const listenerRole: OurRole = {
  name: 'Role listener-NAME',
  rules: buildListenerObjects(LISTENER, settings).role.rules ?? [],
};
/** Roles of deploy/system.yaml that the controller binds in the namespace of each workspace. */
const BOUND = buildProgramBindings('ws-x', 'agentplane-system').map(({ roleRef }) => roleRef.name);
const roles = [...deployedRoles(), listenerRole];

/** `group/resource verb`, one for each thing that a rule allows. */
function grants(rules: readonly PolicyRule[]): readonly string[] {
  return rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
    ),
  );
}

/** Calls that take the constant of a kind, and the verbs that they need. An applied object may be a new one. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  get: ['get'],
  find: ['get'],
  list: ['list'],
  pages: ['list'],
  of: ['list', 'watch'],
  create: ['create'],
  replace: ['update'],
  delete: ['delete'],
  merge: ['patch'],
  mergeMetadata: ['patch'],
  apply: ['create', 'patch'],
  // helpers that take the kind and call the client with it
  ref: ['get', 'create', 'patch'],
  addFinalizer: ['patch'],
  removeFinalizer: ['patch'],
  ensureId: ['patch'],
};
/** A status is applied to a subresource; `ref` beside `reference` names an owner. */
const CALL =
  /(\w*[sS]tatus\.)?\b(\w+)(?:<[^>(]*>)?(?:\((?:\s*[\w.#]+,)?|:)\s*(?:RESOURCES\.(\w+)|([A-Z][A-Z_]+))\b/g;
/** Refs that a loop hands on to `delete`. */
const LOOP = /\bref of \[([^\]]*)\]/g;

/** `group/resource verb`, of what sources ask the API server for. */
function asked(...folders: readonly string[]): ReadonlySet<string> {
  const constants = words as unknown as Readonly<Record<string, ResourceRef | undefined>>;
  const files = folders.flatMap((folder) =>
    globSync(`${folder}/**/*.ts`).filter((file) => !/testdata|\.(spec|long)\.ts$/.test(file)),
  );
  const texts = files.map((file) =>
    readFileSync(file, 'utf8').replaceAll(/kind: 'reference', ref: [\w.]+/g, ''),
  );
  const loops = texts.flatMap((text) => [...text.matchAll(LOOP)].map(([, refs = '']) => refs));
  const deletes = loops.join().replaceAll(/\b[A-Z_]+\b/g, 'delete($&)');
  const calls = [...texts, deletes].flatMap((text) => [...text.matchAll(CALL)]);
  return new Set(
    calls.flatMap(([, status, method = '', ours, name = '']) => {
      if (status !== undefined) return [];
      const kind = ours === undefined ? constants[name] : RESOURCES[ours as keyof typeof RESOURCES];
      const verbs = Object.hasOwn(VERBS, method) ? (VERBS[method] ?? []) : [];
      return kind?.plural === undefined ? [] : verbs.map((verb) => `${kind.group}/${kind.plural} ${verb}`);
    }),
  );
}

describe('rights of the platform’s programs', () => {
  it('allows replacing objects where a program does so, and patches elsewhere', () => {
    const replaced = asked('apps', 'libs');
    // the api replaces what users send, whatever its kind (ResourceHome)
    const programs = roles.filter(({ name }) => !/-(api|view|edit|admin)$/.test(name));
    const updates = programs
      .flatMap(({ rules }) => grants(rules))
      .filter((grant) => grant.endsWith(' update'));
    // a reference to an owner whose deletion it blocks needs this where that admission is on
    expect(updates.filter((grant) => !grant.includes('/finalizers ') && !replaced.has(grant))).toEqual([]);
  });

  it('gives the controller what its sources ask for, and what it hands to listeners and to the api', () => {
    const used = asked('apps/controller/src', 'libs/kube/src', 'libs/reconcile/src');
    const given = roles.filter(({ name }) => /listener-NAME|agentplane-api-/.test(name));
    const handed = new Set(given.flatMap(({ rules }) => grants(rules)));
    const own = roles.filter(({ name }) => /^(Cluster)?Role agentplane-controller/.test(name));
    expect(own).toHaveLength(3);
    const unused = own
      .flatMap(({ rules }) => grants(rules))
      .filter(
        // who lists a kind sees every object of it
        (grant) =>
          !/\/(finalizers|status) |clusterroles bind$/.test(grant) &&
          ![grant, grant.replace(/ get$/, ' list')].some((one) => used.has(one) || handed.has(one)),
      );
    expect(unused).toEqual([]);
  });

  it('finds the rights of every program', () => {
    expect(roles.map(({ name }) => name)).toEqual([
      'ClusterRole agentplane-api',
      'ClusterRole agentplane-api-logs',
      'ClusterRole agentplane-api-secrets',
      'ClusterRole agentplane-controller',
      'ClusterRole agentplane-controller-secrets',
      'Role agentplane-controller',
      'ClusterRole agentplane-view',
      'ClusterRole agentplane-edit',
      'ClusterRole agentplane-admin',
      'Role listener-NAME',
    ]);
  });

  it.each(roles)('$name names what it allows, one by one', ({ rules }) => {
    expect(grants(rules).filter((grant) => grant.includes('*'))).toEqual([]);
    expect(rules.flatMap(({ nonResourceURLs = [] }) => nonResourceURLs)).toEqual([]);
  });

  it.each(roles)('$name shows no Secret that is not asked for by name', ({ rules }) => {
    const many = grants(rules).filter((grant) => /^\/secrets (list|watch|deletecollection)$/.test(grant));
    expect(many).toEqual([]);
  });

  it.each(roles)('$name hands out no identities and enters no pod', ({ rules }) => {
    const dangerous =
      / (escalate|bind|impersonate)$|^\/(serviceaccounts\/token|pods\/(exec|attach|portforward)|nodes\/proxy) /;
    // a right to bind roles is one for roles that are named, and that the tests below look at
    const others = rules.filter(({ verbs, resourceNames }) => !(verbs.join() === 'bind' && resourceNames));
    expect(grants(others).filter((grant) => dangerous.test(grant))).toEqual([]);
  });

  it('the listener’s are none that the controller does not hold: it could not hand them out', () => {
    const controller = roles.find(({ name }) => name.endsWith('agentplane-controller'));
    const held = new Set(grants(controller?.rules ?? []));
    expect(grants(listenerRole.rules).filter((grant) => !held.has(grant))).toEqual([]);
  });

  it('the controller binds the roles of a workspace, in single namespaces, and no others', () => {
    const controller = roles.find(({ name }) => name === 'ClusterRole agentplane-controller');
    const binding = controller?.rules.filter(({ verbs }) => verbs.includes('bind'));
    expect(binding?.map(({ resources, resourceNames }) => [resources, resourceNames])).toEqual([
      [['clusterroles'], BOUND],
    ]);
    const given = roles.filter(({ name }) => BOUND.includes(name.replace('ClusterRole ', '')));
    expect(new Set(given.flatMap(({ rules }) => grants(rules)).map((grant) => grant.split(' ')[0]))).toEqual(
      new Set(['/pods', '/pods/log', '/configmaps', '/secrets']),
    );
    const bindings = parseAllDocuments(readFileSync(join(DEPLOY, 'system.yaml'), 'utf8'))
      .map((document) => document.toJS() as { kind?: string; roleRef?: { name: string } })
      .filter(({ kind }) => kind === 'ClusterRoleBinding');
    expect(bindings.map(({ roleRef }) => roleRef?.name)).toEqual(['agentplane-api', 'agentplane-controller']);
  });

  it.each(['api', 'controller'])('the %s holds no Secret of the whole cluster', (program) => {
    const role = roles.find(({ name }) => name === `ClusterRole agentplane-${program}`);
    expect(grants(role?.rules ?? []).filter((grant) => grant.startsWith('/secrets'))).toEqual([]);
  });

  it('the listener sees no Secret at all', () => {
    expect(grants(listenerRole.rules).filter((grant) => grant.startsWith('/secrets'))).toEqual([]);
  });
});
