import { errorText } from '#lib/errors';
import { runProgram } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { prepareWith } from './prepare.js';
import type { PreparationTasks, TaskCall, TaskReply } from './preparation-tasks.js';

const log = createLogger('preparation');

// It ends when the supervisor needs nothing more, and takes with it what only the start needed: 30 MB of modules.
runProgram({ log }, () => {
  const tasks: PreparationTasks = prepareWith({ clock: systemClock, log });
  const reply = (message: TaskReply): void => void process.send?.(message);
  process.on('message', ({ call, task, input }: TaskCall) => {
    // the input's type belongs to the task's name, on both sides of the channel
    const perform = tasks[task] as (given: unknown) => Promise<unknown>;
    perform(input).then(
      (answer) => reply({ call, answer }),
      (error: unknown) => {
        log.error({ task, err: error }, 'a preparation task failed');
        reply({ call, failure: errorText(error) });
      },
    );
  });
  return Promise.resolve();
});
