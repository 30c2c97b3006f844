import { describe, expect, it } from '@jest/globals';
import { mayCall } from './front-door.js';

describe('an agent without a key', () => {
  it.each([
    ['http://localhost:3000', true],
    ['http://127.0.0.1:5173', true],
    ['http://[::1]:3000', true],
    ['https://app.localhost', true],
    ['https://smith.langchain.com', true],
    ['https://eu.smith.langchain.com', true],
    ['https://app.example.com', true],
    ['https://evil.example', false],
    ['https://localhost.evil.example', false],
    ['https://smith.langchain.com.evil.example', false],
    ['https://evil.example#smith.langchain.com', false],
    ['null', false],
    ['', false],
  ])('judges a page of %j: %j', (origin, expected) => {
    expect(mayCall(origin, ['https://app.example.com'])).toBe(expected);
  });

  it('takes every page where the agent says so', () => {
    expect(mayCall('https://any.example', ['*'])).toBe(true);
  });
});
