import { describe, expect, test } from 'vitest';
import { parseDocument } from './document.ts';

const text = `staticPodURL: http://user:hush@127.0.0.1/pods?token=hush
staticPodURLHeader:
  Authorization:
  - Bearer hush
  Other: ["hush", 'hush', hush]
`;
const json = JSON.stringify({ url: 'http://user:hush@127.0.0.1/', header: { a: ['hush'] } }, undefined, 1);

describe('a syntax error', () => {
  test('is described with its place and without the text', () => {
    expect(parseDocument('c.yaml', 'a:\n- }hush\n').problems).toEqual([
      {
        where: 'c.yaml:2:3',
        message: expect.stringMatching(/^Unexpected flow-map-end token in YAML stream$/),
      },
      { where: 'c.yaml:2:4', message: 'Unexpected scalar token in YAML stream' },
    ]);
  });

  test('shows no part of a value, wherever a character is added or the file ends', () => {
    const shown = new Set<string>();
    const parse = (changed: string): void => {
      for (const { message } of parseDocument('c.yaml', changed).problems)
        if (message.includes('hush')) shown.add(message);
    };
    for (const whole of [text, json])
      for (let at = 0; at <= whole.length; at++) {
        parse(whole.slice(0, at));
        parse(whole.slice(at));
        for (const extra of '"\'[]{}:-&*!%|,#@`\t\n') parse(whole.slice(0, at) + extra + whole.slice(at));
      }
    expect([...shown]).toEqual([]);
  });
});
