// Judges the settings themselves: problems on this machine, and those without effect. Pure.
import type { ClusterFacts, DoctorSettings, StartupRules } from './facts.ts';
import { type Fact, type Finding, fail, judgeKnown, ok, warn } from './finding.ts';

export function judgeSettings({ settingProblems }: Pick<DoctorSettings, 'settingProblems'>): Finding {
  return settingProblems.length === 0
    ? ok('valid')
    : fail(settingProblems.join('; '), 'correct the setting; docs/configuration.md describes each');
}

/** A configuration file turns the webhooks on, which ask the API server. */
export function judgeAuthentication(
  cluster: Fact<ClusterFacts>,
  { admissionFault }: Pick<StartupRules, 'admissionFault'>,
): Finding {
  return judgeKnown(cluster, 'whether there is an API server', ({ source }) => {
    const fault = admissionFault(source !== 'standalone');
    return fault === undefined
      ? ok('possible as configured')
      : fail(
          `${fault}; the kubelet does not start`,
          'set --kubeconfig; in standalone mode set authentication.webhook.enabled: false and authorization.mode: AlwaysAllow',
        );
  });
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
