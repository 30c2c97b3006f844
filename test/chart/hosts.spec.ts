import { loadConfig } from '#lib/config';
import { temporaryFolder } from '#lib/testing';
import { CONFIG as API } from '../../apps/api/src/config.js';
import { findHelm, Helm } from '../support/helm.js';
import { leaveOut } from '../support/kubectl.js';
import { DATABASE, VALUES } from './chart-values.js';

const binary = findHelm();
if (!binary) leaveOut('helm');

interface IngressSpec {
  readonly tls: readonly object[];
  readonly rules: readonly {
    readonly host: string;
    readonly http: {
      readonly paths: readonly { readonly backend: { readonly service: { readonly name: string } } }[];
    };
  }[];
}

(binary ? describe : describe.skip)('hosts of the chart', () => {
  const helm = new Helm(binary ?? '', temporaryFolder());

  it('leads hosts below the domains of routes to the api, which knows these domains', () => {
    const objects = helm.render(VALUES['everything'] ?? {});
    const ingress = objects.find(({ kind }) => kind === 'Ingress')?.spec as unknown as IngressSpec;
    const api = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-api'));
    const service = objects.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name.endsWith('-api'),
    );
    const wild = ['*.agents.example.com', '*.brand.example.org'];
    expect(ingress.rules.map(({ host }) => host)).toEqual(['agentplane.example.com', ...wild]);
    expect(ingress.tls).toEqual([
      { hosts: ['agentplane.example.com'], secretName: 'tls' },
      { hosts: wild, secretName: 'wild' },
    ]);
    for (const { http } of ingress.rules)
      expect(http.paths[0]?.backend.service.name).toBe(service?.metadata.name);
    const env =
      api?.spec?.template?.spec.containers[0]?.env?.map(({ name, value = 'x' }) => [name, value]) ?? [];
    const { routeDomains, publicUrl } = loadConfig(API, Object.fromEntries(env));
    expect([routeDomains, publicUrl]).toEqual([
      ['agents.example.com', 'brand.example.org'],
      'https://agentplane.example.com',
    ]);
  });

  it('refuses domains of routes without the public URL, whose scheme and port routes have', () => {
    const { code, text } = helm.try(['template', 'x'], {
      ...DATABASE,
      routes: { domains: ['a.example.com'] },
    });
    expect([code, text]).toEqual([1, expect.stringContaining('set api.publicUrl with routes.domains')]);
  });

  it.each([
    ['api.publicUrl', { api: { publicUrl: 'https://plane.example.com:8443' } }],
    [
      'ingress.host',
      { api: { publicUrl: 'https://x.example.org' }, ingress: { enabled: true, host: 'plane.example.com' } },
    ],
    [
      'gateway.host',
      {
        api: { publicUrl: 'https://x.example.org' },
        gateway: { enabled: true, host: 'plane.example.com', parentRefs: [{ name: 'g' }] },
      },
    ],
  ])('refuses a domain of routes below which %s lies, and names both', (name, values) => {
    const routes = { domains: ['plane.example.com', 'Example.com'] };
    const { code, text } = helm.try(['template', 'x'], { ...DATABASE, ...values, routes });
    const message = `routes.domains has Example.com, below which plane.example.com of ${name} lies`;
    expect([code, text]).toEqual([1, expect.stringContaining(message)]);
  });

  it.each([
    '*.agents.example.com',
    '.agents.example.com',
    'agents.example.com:443',
    'https://a.b',
    '10.0.0.1',
  ])('refuses %s as a domain of routes, as the api does', (domain) => {
    const values = { api: { publicUrl: 'https://plane.example.com' }, routes: { domains: [domain] } };
    const { code, text } = helm.try(['template', 'x'], { ...DATABASE, ...values });
    const message = `or a dot at either end, but has "${domain}"`;
    expect([code, text]).toEqual([1, expect.stringContaining(message)]);
    const environment = {
      AGENTPLANE_DATABASE_URI: 'x',
      AGENTPLANE_PUBLIC_URL: 'https://plane.example.com',
      AGENTPLANE_ROUTE_DOMAINS: domain,
    };
    expect(() => loadConfig(API, environment)).toThrow(message);
  });

  it('leads hosts below a domain in capitals to the api, by rules in lower case as Kubernetes has them', () => {
    const objects = helm.render({
      ...DATABASE,
      api: { publicUrl: 'https://plane.example.com' },
      ingress: { enabled: true, host: 'plane.example.com' },
      routes: { domains: ['Agents.Example.com'], tlsSecret: 'wild' },
    });
    const ingress = objects.find(({ kind }) => kind === 'Ingress')?.spec as unknown as IngressSpec;
    expect(ingress.rules.map(({ host }) => host)).toEqual(['plane.example.com', '*.agents.example.com']);
    expect(ingress.tls).toEqual([{ hosts: ['*.agents.example.com'], secretName: 'wild' }]);
  });

  it('leads the same hosts to the api by an HTTPRoute', () => {
    const objects = helm.render(VALUES['everything'] ?? {});
    const route = objects.find(({ kind }) => kind === 'HTTPRoute');
    const service = objects.find(
      ({ kind, metadata }) => kind === 'Service' && metadata.name.endsWith('-api'),
    );
    expect(route?.spec).toEqual({
      parentRefs: [{ name: 'main', namespace: 'gateways', sectionName: 'https' }],
      hostnames: ['agentplane.example.com', '*.agents.example.com', '*.brand.example.org'],
      rules: [
        {
          backendRefs: [{ name: service?.metadata.name, port: 8470 }],
          timeouts: { request: '0s' },
        },
      ],
    });
  });

  it('refuses an HTTPRoute that no Gateway serves', () => {
    const { code, text } = helm.try(['template', 'x'], { ...DATABASE, gateway: { enabled: true } });
    expect([code, text]).toEqual([1, expect.stringContaining('set gateway.parentRefs with gateway.enabled')]);
  });
});
