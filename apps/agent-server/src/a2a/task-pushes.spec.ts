import { TaskPushes } from './task-pushes.js';

describe('notifications of an agent without webhooks', () => {
  it('refuses every receiver', async () => {
    const policy = { admit: (url: string) => Promise.resolve(url), isDisabled: true };
    const pushes = new TaskPushes({ sql: undefined as never, tasks: undefined as never, policy });
    const target = { id: undefined, url: 'https://a.test/', token: undefined, authentication: undefined };
    expect(pushes.isEnabled).toBe(false);
    await expect(pushes.admit(target)).rejects.toMatchObject({ code: -32003 });
  });
});
