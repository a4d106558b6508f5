// The CRI contract: cases that run unchanged on the fake runtime and on a real containerd, so that the fake cannot
// diverge from what it stands for.
import { afterAll, beforeAll, describe } from 'vitest';
import { containerCases } from './contract-containers.ts';
import { execCases } from './contract-exec.ts';
import { generalCases } from './contract-general.ts';
import { type CriSubject, defineCases } from './contract-kit.ts';
import { sandboxCases } from './contract-sandboxes.ts';
import { stopCases } from './contract-stop.ts';

/** Defines the suite; all of its cases share one subject. */
export function criContract(name: string, makeSubject: () => Promise<CriSubject>): void {
  describe(`CRI contract: ${name}`, () => {
    let subject: CriSubject | undefined;
    const current = (): CriSubject => {
      if (subject === undefined) throw new Error('the CRI subject failed to start');
      return subject;
    };
    beforeAll(async () => {
      subject = await makeSubject();
    }, 120_000);
    afterAll(async () => {
      await subject?.close();
    }, 120_000);
    const define = defineCases(current);
    describe('runtime, images and events', () => generalCases(define));
    describe('sandboxes', () => sandboxCases(define));
    describe('containers', () => containerCases(define));
    describe('stopping', () => stopCases(define));
    describe('exec, logs and usage', () => execCases(define));
  });
}
