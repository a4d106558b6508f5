import { describe, expect, test } from 'vitest';
import { nextRotation, parseRotatedLog } from './rotated-log.ts';

const at = Date.UTC(2026, 10, 18, 13, 5, 9, 999);

describe('parseRotatedLog', () => {
  const cases = [
    ['0.log.20261118-130509', 'plain'],
    ['0.log.20261118-130509_001', 'plain'],
    ['0.log.20261118-130509.gz', 'compressed'],
    ['0.log.20261118-130509_017.gz', 'compressed'],
    ['0.log.20261118-130509.tmp', 'temporary'],
    ['0.log.20261118-130509_017.tmp', 'temporary'],
    ['0.log', undefined],
    ['0.log.1', undefined],
    ['0.log.gz', undefined],
    ['0.log.20261118-130509.gz.gz', undefined],
    ['0.log.20261118-130509.bak', undefined],
    ['10.log.20261118-130509', undefined],
    ['1.log.20261118-130509', undefined],
  ] as const;
  for (const [name, kind] of cases)
    test(`${name} is ${kind ?? 'no rotated file of 0.log'}`, () => {
      expect(parseRotatedLog('0.log', name)?.kind).toBe(kind);
      if (kind !== undefined)
        expect(parseRotatedLog('0.log', name)?.rotation).toBe(name.replace(/\.(gz|tmp)$/, ''));
    });
});

describe('nextRotation', () => {
  const cases = [
    ['the first: the time in UTC', undefined, '20261118-130509'],
    ['a later second: the time', '20261118-130508_003', '20261118-130509'],
    ['the same second: numbered', '20261118-130509', '20261118-130509_001'],
    ['the same second again: counted', '20261118-130509_009', '20261118-130509_010'],
    ['the clock was set back: after the newest', '20261118-140000', '20261118-140000_001'],
    ['a thousand in one second: the next second', '20261118-130509_999', '20261118-130510'],
    ['a thousand at the end of a year: the next year', '20291231-235959_999', '20300101-000000'],
    ['a time that does not exist: still a name', '20269999-999999_999', '20340611-044040'],
    ['a year beyond all names, which no kubelet writes: the time', '99999999-999999_999', '20261118-130509'],
  ] as const;
  for (const [name, newest, want] of cases)
    test(name, () => {
      const before = newest === undefined ? undefined : `0.log.${newest}`;
      const next = nextRotation('0.log', at, before);
      expect(next).toBe(`0.log.${want}`);
      expect(parseRotatedLog('0.log', next)?.kind).toBe('plain');
    });

  test('names sort by rotation, compressed or not', () => {
    const names: string[] = [];
    let newest: string | undefined;
    for (let i = 0; i < 2500; i++) {
      newest = nextRotation('0.log', at + (i % 700) * 3, newest);
      names.push(i % 3 === 0 ? newest : `${newest}.gz`);
    }
    expect(names.toSorted()).toEqual(names);
  });
});
