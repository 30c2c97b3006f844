import { describe, expect, it } from '@jest/globals';
import { renderMarkdown } from './render-messages.js';
import { renderMessages, TextBudget } from './render-messages.js';

const NONE = { name: undefined, calls: [], parts: [] };

describe('renderMarkdown', () => {
  it.each([
    ['a paragraph', 'a *b* **c** `d`', '<p>a <em>b</em> <strong>c</strong> <code>d</code></p>'],
    ['a heading, which is none of the page', '# Title', '<p class="heading">Title</p>'],
    ['a list', '3. a\n4. b', '<ol start="3"><li>a</li><li>b</li></ol>'],
    [
      'code',
      '```js\nlet a = "<b>";\n```',
      '<pre tabindex="0"><code>let a = &quot;&lt;b&gt;&quot;;</code></pre>',
    ],
    [
      'a table',
      '| a | b |\n|:-:|---|\n| 1 | **2** |',
      '<div class="wide" tabindex="0"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>',
    ],
    [
      'a link',
      '[x](https://example.org/a?b=1&c=2)',
      '<p><a href="https://example.org/a?b=1&amp;c=2" rel="noopener noreferrer nofollow">x</a></p>',
    ],
    ['entities as they were written', 'a &amp; b', '<p>a &amp;amp; b</p>'],
  ])('writes %s', (_what, text, html) => {
    expect(renderMarkdown(text)).toBe(html);
  });

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    'a <b onclick="x">b</b>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](java\tscript:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](/o/tenant)',
    '![x](https://example.org/pixel.png)',
    '<https://example.org/"onmouseover="x>',
    '[x](https://example.org/"onmouseover="alert(1))',
    '```"><script>\nx\n```',
    '[x]: https://example.org/"><script>\n[x]',
    '| <script> |\n|---|\n| <img src=x> |',
    '- [ ] <script>',
    '&lt;script&gt;&#60;script&#62;',
    '\\<script>',
    '<!-- <script> -->',
    '<![CDATA[<script>]]>',
  ])('writes no element, attribute or address of %j', (text) => {
    const html = renderMarkdown(text) ?? '';
    const tags = [...html.matchAll(/<\/?([^\s>]*)([^>]*)>/g)];
    for (const [tag, name = ''] of tags) {
      expect([
        'p',
        'a',
        'div',
        'table',
        'thead',
        'tbody',
        'tr',
        'th',
        'td',
        'pre',
        'code',
        'ul',
        'li',
      ]).toContain(name);
      if (name === 'a')
        expect(tag).toMatch(/^(<\/a>|<a href="https:\/\/[^"<>]*" rel="noopener noreferrer nofollow">)$/);
    }
  });

  it.each(['>', '> ', '1. ', '- > ', '> - ', '* '])('leaves a text of thousands of %j unread', (sign) => {
    expect(renderMarkdown(sign.repeat(3_000))).toBeUndefined();
  });
});

describe('renderMessages', () => {
  it('shows who spoke, results of tools as they came, and calls', () => {
    const html = renderMessages(
      [
        { ...NONE, by: 'user', text: '**hi**' },
        { ...NONE, by: 'agent', text: '', calls: [{ name: 'add', args: { a: '<1>' } }] },
        { ...NONE, by: 'tool', name: 'add', text: '**2**' },
        { ...NONE, by: 'agent', text: '2', parts: ['image_url'] },
      ],
      new TextBudget(),
    );
    expect(html).toContain('<strong>hi</strong>');
    expect(html).toContain('add {&quot;a&quot;:&quot;&lt;1&gt;&quot;}');
    expect(html).toContain('Tool add</p><div class="text"><pre tabindex="0">**2**</pre>');
    expect(html).toContain('[image_url]');
  });

  it.each(['*a ', '_a ', '~a ', '**a '])(
    'reads thousands of %j in little time, and shows the rest as plain text',
    (sign) => {
      const count = Math.floor(9_990 / sign.length / 2);
      const ending = `b${sign.slice(0, -2)} `;
      const text = sign.repeat(count) + ending.repeat(count);
      const page = Array.from({ length: 10 }, () => ({ ...NONE, by: 'agent' as const, text }));
      const before = process.cpuUsage();
      const html = renderMessages(page, new TextBudget());
      const { user } = process.cpuUsage(before);
      expect(html).toContain('<pre tabindex="0">');
      // it was 2.5 to 5 s
      expect(user / 1_000).toBeLessThan(1_000);
    },
  );

  it('shows long texts as plain text', () => {
    const budget = new TextBudget();
    const html = renderMessages([{ ...NONE, by: 'agent', text: `**a**${'b'.repeat(30_000)}` }], budget);
    expect(html).toContain('<pre tabindex="0">**a**bbb');
    expect(html).toContain('the first 20000 of 30005 characters');
    const many = Array.from({ length: 40 }, () => ({
      ...NONE,
      by: 'agent' as const,
      text: `*a*${'b'.repeat(4_000)}`,
    }));
    expect(renderMessages(many, budget).match(/<em>/g)?.length).toBe(24);
  });
});
