import { cardSecurityOf, hybridSecurity, security10 } from './agent-card.js';

const described = (securitySchemes: object, security: readonly object[], paths = {}) => ({
  hasVerifier: true,
  hasHandler: true,
  described: { securitySchemes, security, paths } as never,
});
const nobody = { hasVerifier: false, hasHandler: false, described: undefined };

describe('security in a card', () => {
  it('names the key of the platform unless a handler of the agent authenticates', () => {
    const platform = cardSecurityOf({ ...nobody, hasVerifier: true });
    expect(hybridSecurity(platform)).toEqual({
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          apiKeySecurityScheme: { location: 'header', name: 'x-api-key' },
        },
      },
      security: [{ apiKey: [] }],
      securityRequirements: [{ schemes: { apiKey: { list: [] } } }],
    });
    expect(cardSecurityOf(nobody)).toBeUndefined();
    expect(cardSecurityOf({ ...nobody, hasVerifier: true, hasHandler: true })).toBeUndefined();
    expect(security10(undefined)).toEqual({});
  });

  it.each([
    [
      { type: 'apiKey', in: 'cookie', name: 'session', description: 'Yours', 'x-own': 1 },
      { apiKeySecurityScheme: { location: 'cookie', name: 'session', description: 'Yours' } },
    ],
    [
      { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      { httpAuthSecurityScheme: { scheme: 'bearer', bearerFormat: 'JWT' } },
    ],
    [
      { type: 'openIdConnect', openIdConnectUrl: 'https://id.test' },
      { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://id.test' } },
    ],
    [
      { type: 'oauth2', flows: { password: { tokenUrl: 'https://id.test', scopes: {}, 'x-own': 1 } } },
      { oauth2SecurityScheme: { flows: { password: { tokenUrl: 'https://id.test', scopes: {} } } } },
    ],
    [{ type: 'oauth2' }, { oauth2SecurityScheme: { flows: {} } }],
    [{ type: 'mutualTLS' }, { mtlsSecurityScheme: {} }],
  ])('says %j in the words of 1.0', (scheme, words) => {
    const security = cardSecurityOf(described({ S: scheme }, [{ S: ['a'] }]));
    expect(security10(security)).toEqual({
      securitySchemes: { S: words },
      securityRequirements: [{ schemes: { S: { list: ['a'] } } }],
    });
  });

  it('leaves out types that no version has, and what asks for them', () => {
    const schemes = { A: { type: 'http', scheme: 'basic' }, B: { type: 'hands' } };
    const security = cardSecurityOf(described(schemes, [{ B: [] }, { A: [], B: [] }, { A: [] }]));
    expect(security).toEqual({ schemes: { A: schemes.A }, requirements: [{ A: [] }] });
    expect(cardSecurityOf(described({ B: schemes.B }, [{ B: [] }]))).toBeUndefined();
  });

  it('asks for what the route of A2A asks for', () => {
    const schemes = { A: { type: 'http', scheme: 'basic' }, B: { type: 'mutualTLS' } };
    const paths = { '/a2a/{assistant_id}': { post: [{ B: [] }] } };
    expect(cardSecurityOf(described(schemes, [{ A: [] }], paths))?.requirements).toEqual([{ B: [] }]);
  });
});
