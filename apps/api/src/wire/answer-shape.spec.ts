import { describe, expect, it } from '@jest/globals';
import { sendRaw } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

describe('an answer', () => {
  const { api, tenant } = testApi();

  it.each([
    ['a request line that is none', 'NONSENSE\r\n\r\n', 400],
    ['two lengths', 'GET /ok HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
    ['no Host header', 'GET /ok HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    ['headers of 20 kB', `GET /ok HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['an expectation', 'GET /ok HTTP/1.1\r\nhost: a\r\nconnection: close\r\nexpect: tea\r\n\r\n', 417],
  ])('has the shape of every error for %s', async (_, text, status) => {
    const answer = await sendRaw(Number(new URL(api.url).port), text);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    const body = JSON.parse(answer.body) as Record<string, unknown>;
    expect(Object.keys(body)).toEqual(['detail']);
    expect(typeof body['detail']).toBe('string');
  });

  it.each([
    ['data', 'GET', '/v2/deployments', 200],
    ['a refusal', 'GET', '/v2/deployments/none', 422],
    ['an unknown path', 'GET', '/nothing', 404],
    ['another method', 'PUT', '/v2/deployments', 405],
    ['a path that cannot be decoded', 'GET', '/v2/deployments/%E0%A4%A', 400],
  ])('says for %s that it is neither stored nor guessed at', async (_, method, path, status) => {
    const answer = await fetch(api.url + path, { method, headers: { 'x-api-key': tenant.key } });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('strict-transport-security')).toBeNull();
  });
});
