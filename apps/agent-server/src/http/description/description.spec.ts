import { parseGraphConfiguration } from '#lib/graph-configuration';
import { HttpSide, type HttpSideParts } from '../http-side.js';
import { BODY_EXAMPLES, openapiDocument } from './openapi-document.js';
import { DESCRIBED_ROUTES } from './described-routes.js';
import { renderDocsPage } from './docs-page.js';

/** Routes as the server registers them; their services are not needed for that. */
const { http: settings } = parseGraphConfiguration('{"graphs": {"agent": "./agent.ts"}}');
const ROUTES = new HttpSide({ settings, a2a: {} } as HttpSideParts).routes.filter(
  (name) => !name.startsWith('HEAD '),
);

type Operation = {
  readonly summary: string;
  readonly responses: object;
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> };
};

const document = openapiDocument({ names: ROUTES, prefix: '' }) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

describe('the description of the routes', () => {
  it('has a line for each route, and none for others', () => {
    expect(Object.keys(DESCRIBED_ROUTES).sort()).toEqual([...ROUTES].sort());
  });

  it('describes bodies by the shapes that check them', () => {
    expect(document.paths['/threads/{thread_id}/runs/stream']?.post).toMatchObject({
      requestBody: {
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['assistant_id'],
              properties: { after_seconds: { anyOf: [{ type: 'number', minimum: 0 }, { type: 'null' }] } },
            },
          },
        },
      },
    });
  });

  it('has a schema for every body', () => {
    const bodies = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap(
        ({ requestBody }) => requestBody?.content['application/json']?.schema ?? [],
      ),
    );
    expect(bodies.length).toBeGreaterThan(15);
    for (const schema of bodies) expect(Object.keys(schema).length).toBeGreaterThan(0);
  });

  it('shows an example of every body, which its shape allows', () => {
    const taken = Object.entries(DESCRIBED_ROUTES).flatMap(([name, { body }]) =>
      body ? [{ name, checked: body.safeParse(BODY_EXAMPLES[name]) }] : [],
    );
    expect(taken.filter(({ checked }) => !checked.success)).toEqual([]);
    expect(Object.keys(BODY_EXAMPLES).sort()).toEqual(taken.map(({ name }) => name).sort());
  });

  it('names what it is for and its refusals, for every operation', () => {
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { summary, requestBody, responses }] of Object.entries(methods)) {
        const at = `${method} ${path}`;
        expect([at, summary]).toEqual([at, expect.stringMatching(/^[A-Z]/)]);
        const expected = [path.includes('{') ? '404' : [], requestBody ? '422' : []].flat();
        const isCall = ['/mcp', '/a2a/{assistant_id}'].includes(path);
        if (!isCall) expect([at, Object.keys(responses)]).toEqual([at, expect.arrayContaining(expected)]);
      }
  });

  it('renders a page that loads nothing from elsewhere', () => {
    const { html, policy } = renderDocsPage(document);
    expect(html).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(html).toContain('<code>/threads/{thread_id}/runs/stream</code>');
    expect(policy).toMatch(/^default-src 'none'; connect-src 'self'; script-src 'sha256-/);
    expect(renderDocsPage({ info: { title: '<script>' } }).html).toContain('&#60;script&#62;');
  });
});
