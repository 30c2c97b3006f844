import { describe, expect, it } from '@jest/globals';
import { atOnce } from '#lib/json';
import { modelMembers } from '../price/price-book.js';
import { factsInExtra } from './extra-facts.js';

const modelIn = (extra: string, members = modelMembers()) =>
  atOnce(factsInExtra(Buffer.from(extra), members)).model;

describe('the model in extra', () => {
  it('comes from ls_model_name, then from parameters, then from metadata, by the order of names', () => {
    const members = modelMembers(['own', 'other']);
    const own = '"metadata":{"other":"d","own":"c"}';
    expect(modelIn(`{${own}}`, members)).toEqual({ model: 'c', member: 'own' });
    expect(modelIn(`{${own},"invocation_params":{"other":"b"}}`, members)).toEqual({
      model: 'b',
      member: 'other',
    });
    expect(modelIn(`{"metadata":{"model":"e","own":"c"}}`, members)).toEqual({ model: 'e', member: 'model' });
    const named = '"metadata":{"ls_model_name":"a","own":"c"}';
    expect(modelIn(`{"invocation_params":{"model":"b"},${named}}`, members)).toEqual({
      model: 'a',
      member: undefined,
    });
    expect(modelIn(`{${own}}`)).toBeUndefined();
  });

  it('takes one look-up for each member, however many names there are', () => {
    const names = Array.from({ length: 10_000 }, (_one, n) => `name${n}`);
    let asked = 0;
    class Counted extends Map<string, number> {
      override get(name: string): number | undefined {
        asked++;
        return super.get(name);
      }
      override keys(): never {
        throw new Error('the names were read one by one');
      }
      override entries = this.keys;
      override [Symbol.iterator] = this.keys;
    }
    const members = new Counted();
    for (const [name, rank] of modelMembers(names)) members.set(name, rank);
    const metadata = `{${'"zzz":1,'.repeat(1_000)}"name9999":"m"}`;
    expect(modelIn(`{"metadata":${metadata}}`, members)).toEqual({ model: 'm', member: 'name9999' });
    expect(asked).toBe(1_001);
  });
});
