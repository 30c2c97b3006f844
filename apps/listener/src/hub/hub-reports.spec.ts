import { describe, expect, it } from '@jest/globals';
import type { KubeClient } from '#lib/kube';
import { CONFIG_MAPS, type ListenerReport, RESOURCES } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import { HubReports } from './hub-reports.js';

describe('HubReports', () => {
  const clock = new FakeClock();
  const written: (readonly ListenerReport[])[] = [];
  let answer: () => Promise<void> = () => Promise.resolve();
  const client = {
    applyStatus: async (_: unknown, { status }: { status: { reports: readonly ListenerReport[] } }) => {
      written.push(status.reports);
      await answer();
    },
  } as unknown as KubeClient;
  const reports = new HubReports({
    client,
    clock,
    log: createLogger('test', 'silent'),
    listener: { namespace: 'ws-x', name: 'far' },
  });
  const report = (message: string): void =>
    reports.record(
      RESOURCES.AgentRevision,
      { metadata: { name: 'a-00001', uid: 'u' } },
      { type: 'Warning', reason: 'Crashed', message },
    );

  it('writes each report together with those before it', async () => {
    report('one');
    await clock.advance(0);
    report('two');
    report('x'.repeat(5_000));
    await clock.advance(1_000);
    expect(written.map((all) => all.map(({ message }) => message.slice(0, 5)))).toEqual([
      ['one'],
      ['one', 'two', 'xxxxx'],
    ]);
    expect(written[1]?.[2]).toMatchObject({ kind: 'AgentRevision', name: 'a-00001', uid: 'u' });
    expect(written[1]?.[2]?.message).toHaveLength(1_000);
  });

  it('keeps the last twenty, and nothing about other kinds', async () => {
    reports.record(CONFIG_MAPS, { metadata: { name: 'a' } }, { type: 'Normal', reason: 'X', message: '' });
    for (let at = 0; at < 30; at++) report(`m${at}`);
    await clock.advance(5_000);
    const messages = written.at(-1)?.map(({ message }) => message);
    expect(messages).toEqual(Array.from({ length: 20 }, (_, at) => `m${at + 10}`));
  });

  it('goes on after a write that failed', async () => {
    answer = () => Promise.reject(new Error('no answer'));
    report('lost');
    await clock.advance(5_000);
    answer = () => Promise.resolve();
    report('found');
    await clock.advance(5_000);
    await reports.flush();
    expect(
      written
        .at(-1)
        ?.slice(-2)
        .map(({ message }) => message),
    ).toEqual(['lost', 'found']);
  });
});
