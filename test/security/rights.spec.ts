import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { buildApiBindings, buildListenerObjects } from '#lib/manifests';
import type { Listener, PolicyRule } from '#lib/resources';

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
const roles = [...deployedRoles(), listenerRole];

/** `group/resource verb`, one for each thing that a rule allows. */
function grants(rules: readonly PolicyRule[]): readonly string[] {
  return rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
    ),
  );
}

describe('rights of the platform’s programs', () => {
  it('finds the rights of every program', () => {
    expect(roles.map(({ name }) => name)).toEqual([
      'ClusterRole agentplane-api',
      'ClusterRole agentplane-api-logs',
      'ClusterRole agentplane-api-secrets',
      'ClusterRole agentplane-controller',
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
    expect(grants(rules).filter((grant) => dangerous.test(grant))).toEqual([]);
  });

  it('the listener’s are none that the controller does not hold: it could not hand them out', () => {
    const controller = roles.find(({ name }) => name.endsWith('agentplane-controller'));
    const held = new Set(grants(controller?.rules ?? []));
    expect(grants(listenerRole.rules).filter((grant) => !held.has(grant))).toEqual([]);
  });

  it('the api’s in a workspace are none that the controller does not hold, and bound in single namespaces', () => {
    const bound = buildApiBindings('ws-x', 'agentplane-system').map(({ roleRef }) => roleRef.name);
    expect(bound).toEqual(['agentplane-api-logs', 'agentplane-api-secrets']);
    const controller = roles.find(({ name }) => name.endsWith('agentplane-controller'));
    const held = new Set(grants(controller?.rules ?? []));
    const given = roles.filter(({ name }) => bound.includes(name.replace('ClusterRole ', '')));
    expect(given.flatMap(({ rules }) => grants(rules)).filter((grant) => !held.has(grant))).toEqual([]);
    const bindings = parseAllDocuments(readFileSync(join(DEPLOY, 'system.yaml'), 'utf8'))
      .map((document) => document.toJS() as { kind?: string; roleRef?: { name: string } })
      .filter(({ kind }) => kind === 'ClusterRoleBinding');
    expect(bindings.map(({ roleRef }) => roleRef?.name)).toEqual(['agentplane-api', 'agentplane-controller']);
  });

  it('the api holds no Secret of the whole cluster', () => {
    const api = roles.find(({ name }) => name === 'ClusterRole agentplane-api');
    expect(grants(api?.rules ?? []).filter((grant) => grant.startsWith('/secrets'))).toEqual([]);
  });

  it('the listener sees no Secret at all', () => {
    expect(grants(listenerRole.rules).filter((grant) => grant.startsWith('/secrets'))).toEqual([]);
  });
});
