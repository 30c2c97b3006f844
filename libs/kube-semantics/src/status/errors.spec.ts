import { invalid as invalidField, required } from '../schema/field-error.js';
import { invalid } from './errors.js';

describe('invalid', () => {
  it('lists several causes in brackets, each once', () => {
    const text = (...causes: readonly ReturnType<typeof required>[]): string =>
      invalid({ group: 'apps', kind: 'Deployment' }, 'web', causes).message;
    expect(text(required('a'))).toBe('Deployment.apps "web" is invalid: a: Required value');
    expect(text(required('a'), invalidField('b', 'x', 'bad'), required('a'))).toBe(
      'Deployment.apps "web" is invalid: [a: Required value, b: Invalid value: "x": bad]',
    );
  });

  it('repeats no more of a request than a person reads', () => {
    const value = '"'.repeat(1_000_000);
    const refused = invalid({ group: '', kind: 'ConfigMap' }, 'm', [invalidField('data', value, 'bad')]);
    expect(JSON.stringify(refused.status()).length).toBeLessThan(100_000);
  });
});
