// Judges the settings themselves: problems on this machine, and those without effect. Pure.
import type { DoctorSettings } from './facts.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export function judgeSettings({ settingProblems }: Pick<DoctorSettings, 'settingProblems'>): Finding {
  return settingProblems.length === 0
    ? ok('valid')
    : fail(settingProblems.join('; '), 'correct the setting; docs/configuration.md describes each');
}

const mostListed = 8;

export function judgeEffects({ settingWarnings }: Pick<DoctorSettings, 'settingWarnings'>): Finding {
  if (settingWarnings.length === 0) return ok('every setting that was changed has an effect');
  const more = settingWarnings.length - mostListed;
  return warn(
    settingWarnings.slice(0, mostListed).join('; ') + (more > 0 ? `; and ${more} more` : ''),
    'remove or replace these settings; the kubelet logs each of them when it starts',
  );
}
