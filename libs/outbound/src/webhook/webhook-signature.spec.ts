import { describe, expect, it } from '@jest/globals';
import { signatureHeaders, signingSecretsOf } from './webhook-signature.js';

const CALL = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  sentAt: new Date(1_614_265_330_000),
  body: '{"test": 2432232314}',
};

describe('signatureHeaders', () => {
  it('signs the example of the specification as the specification does', () => {
    expect(signatureHeaders(CALL, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])).toEqual({
      'webhook-id': CALL.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('has a signature for each secret', () => {
    const { 'webhook-signature': both = '' } = signatureHeaders(CALL, ['one', 'two']);
    const each = ['one', 'two'].map((secret) => signatureHeaders(CALL, [secret])['webhook-signature']);
    expect(both.split(' ')).toEqual(each);
  });

  it('has no signature without a secret', () => {
    expect(Object.keys(signatureHeaders(CALL, []))).toEqual(['webhook-id', 'webhook-timestamp']);
  });
});

describe('signingSecretsOf', () => {
  it.each<[string, string | undefined, string[]]>([
    ['answers none for nothing', undefined, []],
    ['leaves out blanks', ' a , ,b,', ['a', 'b']],
  ])('%s', (_name, setting, expected) => expect(signingSecretsOf(setting)).toEqual(expected));
});
