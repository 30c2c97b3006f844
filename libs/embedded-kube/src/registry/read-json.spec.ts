import { ApiError } from '#lib/kube-semantics';
import { readJson } from './body.js';

function read(text: string, fieldValidation?: string): { value: unknown; warnings: string[] } {
  const warnings: string[] = [];
  const query = new URLSearchParams(fieldValidation === undefined ? {} : { fieldValidation });
  return { value: readJson(text, { query, warn: (warning) => warnings.push(warning) }), warnings };
}

const TWICE =
  '{"apiVersion":"apps/v1","kind":"Deployment","spec":{"containers":[{"name":"a"},{"name":"b","name":"c"}]}}';

describe('readJson', () => {
  it.each([undefined, '', 'Warn'])(
    'warns about a field that comes twice, with fieldValidation %s',
    (given) => {
      expect(read(TWICE, given).warnings).toEqual(['duplicate field "spec.containers[1].name"']);
    },
  );

  it('takes the last of two fields silently, with fieldValidation Ignore', () => {
    expect(read('{"a":1,"a":2}', 'Ignore')).toEqual({ value: { a: 2 }, warnings: [] });
  });

  it('refuses a field that comes twice as kube-apiserver does, with fieldValidation Strict', () => {
    const message =
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: duplicate field "spec.containers[1].name"';
    expect(() => read(TWICE, 'Strict')).toThrow(expect.objectContaining({ code: 400, message }));
    expect(() => read(TWICE, 'Strict')).toThrow(ApiError);
  });

  it.each([
    ['half a pair', '"\\ud83d!"', '\ufffd!'],
    ['two second halves', '"\\ude00\\uDE00"', '\ufffd\ufffd'],
    ['a whole pair', '"\\ud83d\\ude00"', '😀'],
    ['an escaped backslash before it', '"\\\\ud83d"', '\\ud83d'],
    ['a NUL, as Kubernetes keeps it', '"\\u0000"', '\0'],
  ])('reads %s', (_title, text, expected) => {
    expect(read(text).value).toBe(expected);
  });
});
