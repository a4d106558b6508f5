import { expect, test } from 'vitest';
import { describeError } from '../../base/errors.ts';
import { defaultCapabilities, readAnswer } from './driver-answer.ts';

const nothing = { status: '', message: '', device: '', capabilities: defaultCapabilities };
const ok = { ...nothing, status: 'Success' };

const answers: readonly (readonly [string, string, object])[] = [
  ['a success', '{"status":"Success"}', ok],
  [
    'a failure',
    '{"status":"Failure","message":"no disk"}',
    { ...nothing, status: 'Failure', message: 'no disk' },
  ],
  ['a device', '{"status":"Success","device":"/dev/sdx"}', { ...ok, device: '/dev/sdx' }],
  ['names in any case', '{"STATUS":"Success"}', ok],
  ['the last of several', '{"status":"Failure","status":"Success"}', ok],
  ['blanks around it', ' \n{"status":"Success"}\n', ok],
  ['unknown fields', '{"status":"Success","volumeName":"v","x":[1,{"y":null}]}', ok],
  ['nulls', '{"status":"Success","message":null,"capabilities":null}', ok],
  ['no status', '{}', nothing],
  [
    'capabilities, the rest by default',
    '{"status":"Success","capabilities":{"attach":false,"supportsMetrics":true}}',
    { ...ok, capabilities: { ...defaultCapabilities, attach: false, supportsMetrics: true } },
  ],
  [
    'capabilities in any case',
    '{"status":"Success","Capabilities":{"SELinuxRelabel":false,"FSGROUP":false}}',
    { ...ok, capabilities: { ...defaultCapabilities, selinuxRelabel: false, fsGroup: false } },
  ],
  [
    'names of the prototype',
    '{"__proto__":{"status":"Success","device":"/x"},"constructor":{"prototype":{"status":"Success"}}}',
    nothing,
  ],
  [
    'capabilities of the prototype',
    '{"status":"Success","capabilities":{"__proto__":{"attach":false},"toString":1}}',
    ok,
  ],
];
for (const [name, output, want] of answers)
  test(`readAnswer reads ${name}`, () => expect(readAnswer(output)).toEqual(want));

const malformed: readonly (readonly [string, string, string])[] = [
  ['nothing', '', 'it is empty'],
  ['blanks', ' \n', 'it is empty'],
  ['text', 'secret password', 'it is not JSON'],
  ['text after the object', '{"status":"Success"} secret', 'it is not JSON'],
  ['an array', '[{"status":"Success"}]', 'it is not a JSON object'],
  ['null', 'null', 'it is not a JSON object'],
  ['a status that is no text', '{"status":{"secret":1}}', 'its status is not a string'],
  ['a message that is no text', '{"status":"Success","message":5}', 'its message is not a string'],
  ['a device that is no path', '{"status":"Success","device":"/a\\u0000b"}', 'its device is not a path'],
  [
    'a device without end',
    `{"status":"Success","device":"${'x'.repeat(5_000)}"}`,
    'its device is not a path',
  ],
  ['capabilities that are no object', '{"capabilities":[]}', 'its capabilities are not a JSON object'],
  [
    'a capability that is no boolean',
    '{"capabilities":{"attach":"no"}}',
    'its capability attach is not a boolean',
  ],
  ['arrays in arrays', '['.repeat(30_000), 'it is not JSON'],
  ['objects in objects', `${'{"__proto__":'.repeat(4_000)}1${'}'.repeat(4_000)}x`, 'it is not JSON'],
];
for (const [name, output, want] of malformed)
  test(`readAnswer rejects ${name} without repeating it`, () => {
    let text = '';
    try {
      readAnswer(output);
    } catch (err) {
      text = describeError(err);
    }
    expect(text).toBe(`the answer is malformed: ${want}`);
  });
