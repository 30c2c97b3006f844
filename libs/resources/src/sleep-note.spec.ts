import { describe, expect, it } from '@jest/globals';
import { ANNOTATION } from './label.js';
import { formatSleepNote, sleepNoteOf } from './sleep-note.js';

const noted = (text: string) => sleepNoteOf({ metadata: { annotations: { [ANNOTATION.sleep]: text } } });

describe('sleepNoteOf', () => {
  it('reads what formatSleepNote writes, a long problem cut', () => {
    const note = { since: 'monday', workload: 'a-00001', wakingSince: 'tuesday' };
    expect(noted(formatSleepNote(note))).toEqual(note);
    const problem = '\u0001'.repeat(10_000);
    expect(noted(formatSleepNote({ ...note, problem }))).toEqual({ ...note, problem: problem.slice(0, 500) });
  });

  it('takes no note that is longer than those of the platform', () => {
    const long = (size: number): string => JSON.stringify({ since: 'a', p: 'x'.repeat(size) });
    expect(noted(long(1_000))).toEqual({ since: 'a' });
    expect(noted(long(5_000))).toBeUndefined();
  });
});
