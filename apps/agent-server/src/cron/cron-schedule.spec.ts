import { findTimingProblem, nextFire } from './cron-schedule.js';

const timing = (schedule: string, timezone?: string, endTime?: Date) => ({ schedule, timezone, endTime });

function fires(schedule: string, timezone: string, from: string, count: number): string[] {
  const found: string[] = [];
  for (let at: Date | undefined = new Date(from); at && found.length < count;) {
    at = nextFire(timing(schedule, timezone), at);
    if (at) found.push(at.toISOString().slice(0, 16));
  }
  return found;
}

describe('the schedule of a cron', () => {
  it.each([
    [
      '30 2 * * *',
      'at the first moment after an hour that is left out',
      '2026-03-07T12:00Z',
      ['2026-03-08T07:00', '2026-03-09T06:30'],
    ],
    [
      '30 1 * * *',
      'once in an hour that is repeated',
      '2026-10-31T12:00Z',
      ['2026-11-01T05:30', '2026-11-02T06:30'],
    ],
    [
      '0 * * * *',
      'each hour, also of those that have the same name',
      '2026-11-01T04:30Z',
      ['2026-11-01T05:00', '2026-11-01T06:00', '2026-11-01T07:00'],
    ],
    ['0 9 * * MON-FRI', 'by names of days', '2026-11-20T20:00Z', ['2026-11-23T14:00', '2026-11-24T14:00']],
    ['@daily', 'by nicknames', '2026-11-20T20:00Z', ['2026-11-21T05:00']],
  ])('fires %s in New York %s', (schedule, _, from, expected) => {
    expect(fires(schedule, 'America/New_York', from, expected.length)).toEqual(expected);
  });

  it.each<[string, string, string, string, string[]]>([
    // Berlin puts its clock back at 01:00 UTC of 25 October, forward at 01:00 UTC of 28 March
    ['30 2,14 * * *', 'Europe/Berlin', 'back', '2026-10-24T22:30Z', ['2026-10-25T00:30', '2026-10-25T13:30']],
    [
      '30 2,14 * * *',
      'Europe/Berlin',
      'forward',
      '2027-03-27T23:30Z',
      ['2027-03-28T01:00', '2027-03-28T12:30'],
    ],
    [
      '30,45 2 * * *',
      'Europe/Berlin',
      'back',
      '2026-10-24T22:30Z',
      ['2026-10-25T00:30', '2026-10-25T00:45', '2026-10-26T01:30'],
    ],
    [
      '30,45 2 * * *',
      'Europe/Berlin',
      'forward',
      '2027-03-27T23:30Z',
      ['2027-03-28T01:00', '2027-03-29T00:30'],
    ],
    [
      '30 */2 * * *',
      'Europe/Berlin',
      'back',
      '2026-10-24T22:00Z',
      ['2026-10-24T22:30', '2026-10-25T00:30', '2026-10-25T03:30'],
    ],
    ['0 30 2 * * *', 'Europe/Berlin', 'back', '2026-10-24T12:00Z', ['2026-10-25T00:30', '2026-10-26T01:30']],
    [
      '*/30 * * * *',
      'Europe/Berlin',
      'back',
      '2026-10-25T00:15Z',
      ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30'],
    ],
    ['45 * * * *', 'Europe/Berlin', 'forward', '2027-03-28T00:15Z', ['2027-03-28T00:45', '2027-03-28T01:45']],
    [
      '0 1,2 * * *',
      'America/New_York',
      'back',
      '2026-11-01T03:30Z',
      ['2026-11-01T05:00', '2026-11-01T07:00'],
    ],
    [
      '30 1-3 * * *',
      'America/New_York',
      'forward',
      '2027-03-14T03:30Z',
      ['2027-03-14T06:30', '2027-03-14T07:00', '2027-03-14T07:30'],
    ],
    [
      '0 0,12 * * *',
      'America/Santiago',
      'forward',
      '2026-09-05T17:00Z',
      ['2026-09-06T04:00', '2026-09-06T15:00'],
    ],
    [
      '30 11,23 * * *',
      'America/Santiago',
      'back',
      '2027-04-03T16:00Z',
      ['2027-04-04T02:30', '2027-04-04T15:30'],
    ],
    [
      '15 2,3 * * *',
      'Australia/Lord_Howe',
      'forward',
      '2026-10-03T12:00Z',
      ['2026-10-03T15:30', '2026-10-03T16:15'],
    ],
    [
      '45 1,2 * * *',
      'Australia/Lord_Howe',
      'back',
      '2027-04-03T12:00Z',
      ['2027-04-03T14:45', '2027-04-03T16:15'],
    ],
  ])('fires %s in %s where the clock is put %s', (schedule, timezone, _, from, expected) => {
    expect(fires(schedule, timezone, from, expected.length)).toEqual(expected);
  });

  it('ends with its end time', () => {
    const end = new Date('2026-11-20T20:01:00Z');
    expect(nextFire(timing('* * * * *', undefined, end), new Date('2026-11-20T20:00:30Z'))).toEqual(end);
    expect(nextFire(timing('* * * * *', undefined, end), end)).toBeUndefined();
  });

  it.each<[string, string | undefined, string, RegExp]>([
    ['61 * * * *', undefined, 'schedule', /cannot be read: Invalid value for minute: 61/],
    ['* * *', undefined, 'schedule', /has 3 fields/],
    ['0 0 0 1 1 * 2030', undefined, 'schedule', /has 7 fields/],
    ['2027-03-08T05:30:00Z', undefined, 'schedule', /has 1 fields/],
    ['', undefined, 'schedule', /has 1 fields/],
    ['0 0 30 2 *', undefined, 'schedule', /never fires/],
    [
      '*/5 * * * * *',
      undefined,
      'schedule',
      /fires every 5 s, and 60 s is the least; CRON_MIN_INTERVAL_SECONDS/,
    ],
    ['0,59 0 0 * * *', undefined, 'schedule', /fires every 59 s/],
    ['* * * * *', 'Mars/Olympus', 'timezone', /"Mars\/Olympus" is not the name of a time zone/],
  ])('refuses %j in %s', (schedule, timezone, field, message) => {
    const problem = findTimingProblem(timing(schedule, timezone), new Date('2026-11-20T20:00Z'), 60);
    expect(problem).toEqual({ field, message: expect.stringMatching(message) });
  });

  it('takes seconds where the least interval allows them', () => {
    expect(findTimingProblem(timing('*/5 * * * * *'), new Date(), 5)).toBeUndefined();
    expect(findTimingProblem(timing('* * * * *', 'Europe/Berlin'), new Date(), 60)).toBeUndefined();
  });
});
