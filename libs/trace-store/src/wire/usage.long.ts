import { describe, expect, it } from '@jest/globals';
import { atOnce } from '#lib/json';
import { usageInOutputs } from './usage.js';

describe('the usage in outputs', () => {
  it('looks for generations in themselves alone, however often their name stands there', () => {
    const outputs = Buffer.from(`{${'"generations":[],'.repeat(20_000)}"text":"${'x'.repeat(4 << 20)}"}`);
    const started = process.threadCpuUsage();
    expect(atOnce(usageInOutputs(outputs))).toBeUndefined();
    // to the end of all of it for each of them would take minutes
    expect(process.threadCpuUsage(started).user / 1000).toBeLessThan(2_000);
  });
});
