import { EXIT } from '#lib/lifecycle';
import { RestError, RestRedirectError, RestUnreachableError } from '#lib/rest-client';
import { reportError } from './report-error.js';

describe('reportError', () => {
  const url = 'http://127.0.0.1:1';

  it.each([
    [new RestUnreachableError(url, new Error('refused')), EXIT.unreachable],
    [new RestRedirectError(url, new Response(null, { status: 302 })), EXIT.unreachable],
    [new RestError(503, 'database unavailable; retry'), EXIT.unreachable],
    [new RestError(403, 'this key may not list keys'), EXIT.refused],
    [new RestError(404, 'Deployment not found'), EXIT.notFound],
    [new RestError(422, 'name: is missing'), EXIT.failed],
  ])('answers the exit code of %s', (error, code) => {
    expect(reportError(error)).toBe(code);
  });
});
