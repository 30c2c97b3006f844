import { describe, expect, it } from '@jest/globals';
import { FakeClock, testEmbeddedKube, testKubeClient } from '#lib/testing';
import { CONFIG_MAPS, EVENTS } from '#lib/resources';
import { EventRecorder } from './event-recorder.js';
import { EventSeries } from './event-recorder.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const text = (message: string): { type: 'Warning'; reason: string; message: string } => ({
  type: 'Warning',
  reason: 'Failed',
  message,
});

describe('EventSeries', () => {
  it('counts equal events and begins anew after ten minutes', async () => {
    const clock = new FakeClock();
    const series = new EventSeries(clock);
    const first = series.next('a', text('x'));
    expect(series.next('a', text('x'))).toMatchObject({ kind: 'repeat', count: 2 });
    expect(series.next('b', text('x'))).toMatchObject({ kind: 'first', count: 1 });
    await clock.advance(600_000);
    const later = series.next('a', text('x'));
    expect(later).toMatchObject({ kind: 'first', count: 1 });
    expect('id' in later && 'id' in first && later.id !== first.id).toBe(true);
  });

  it('combines the eleventh different message of a reason and those after it', () => {
    const series = new EventSeries(new FakeClock());
    const steps = Array.from({ length: 13 }, (_, at) => series.next('a', text(`m${at}`)));
    expect(steps.slice(0, 10).every(({ kind }) => kind === 'first')).toBe(true);
    expect(
      steps.slice(10).map((step) => ('text' in step ? `${step.kind} ${step.text.message}` : step.kind)),
    ).toEqual([
      'first (combined from similar events): m10',
      'repeat (combined from similar events): m11',
      'repeat (combined from similar events): m12',
    ]);
  });

  it('keeps the beginning of a long message alone', () => {
    const series = new EventSeries(new FakeClock());
    const steps = Array.from({ length: 100 }, (_, at) =>
      series.next(`o${at}`, text(`${at} ${'x'.repeat(10 ** 6)}`)),
    );
    expect(steps[0]).toMatchObject({
      text: { message: expect.stringMatching(/^0 x{4094}… \(\d+ more letters\)$/) as unknown },
    });
    expect(series.next('o1', text(`1 ${'x'.repeat(10 ** 6)}`)).kind).toBe('repeat');
  });

  it('cuts an object short that reports without end', async () => {
    const clock = new FakeClock();
    const series = new EventSeries(clock);
    const kinds = Array.from({ length: 30 }, () => series.next('a', text('x')).kind);
    expect(kinds.filter((kind) => kind === 'drop').length).toBe(5);
    await clock.advance(300_000);
    expect(series.next('a', text('x')).kind).not.toBe('drop');
  });

  it('keeps what decides about the next event, and nothing longer', async () => {
    const clock = new FakeClock();
    const series = new EventSeries(clock);
    for (let n = 0; n < 30; n++) series.next('busy', text('x'));
    series.next('calm', text('x'));
    await clock.advance(300_000);
    expect(series.forgetOld()).toBe(true);
    expect(series.next('calm', text('x')).kind).toBe('repeat');
    await clock.advance(600_000);
    expect(series.forgetOld()).toBe(true);
    expect(series.next('busy', text('x')).kind).toBe('first');
    await clock.advance(25 * 300_000);
    expect(series.forgetOld()).toBe(false);
  });
});

describe('EventRecorder', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);

  it('writes one event with a count for what happened several times', async () => {
    const object = await client.create(CONFIG_MAPS, { metadata: { namespace: 'default', name: 'noisy' } });
    const recorder = new EventRecorder({ client, component: 'tester', log: silent });
    for (let i = 0; i < 3; i++) recorder.record(CONFIG_MAPS, object, text('again'));
    await recorder.flush();
    const { items } = await client.list(EVENTS, {
      namespace: 'default',
      fieldSelector: 'involvedObject.name=noisy',
    });
    expect(items).toMatchObject([
      {
        count: 3,
        reason: 'Failed',
        message: 'again',
        type: 'Warning',
        source: { component: 'tester' },
        involvedObject: { kind: 'ConfigMap', name: 'noisy', uid: object.metadata.uid },
      },
    ]);
  });
});
