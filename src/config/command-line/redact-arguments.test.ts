import { expect, test } from 'vitest';
import { redactArguments } from './redact-arguments.ts';

test.each([
  [
    ['node', 'main.mjs', '--v=2', '--max-pods', '7'],
    ['node', 'main.mjs', '--v=2', '--max-pods', '7'],
  ],
  [['--manifest-url=https://me:pw@host/p?t=1'], ['--manifest-url=https://<masked>@host/p?<masked>']],
  [
    ['--manifest_url', 'https://me:pw@host/p', '-v', '4'],
    ['--manifest_url', 'https://<masked>@host/p', '-v', '4'],
  ],
  [['--manifest-url-header=Authorization:Bearer x'], ['--manifest-url-header=<masked>']],
  [
    ['--manifest-url-header', 'Authorization:x', '--v=1'],
    ['--manifest-url-header', '<masked>', '--v=1'],
  ],
  [['--storage-driver-password=x'], ['--storage-driver-password=<masked>']],
  [['--manifest-url-header'], ['--manifest-url-header']],
])('redacts %j as %j', (argv, expected) => expect(redactArguments(argv)).toEqual(expected));
