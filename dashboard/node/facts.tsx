// The node's facts in one line: pods, pressure, processes, runtime, certificates, configuration.
import type { ComponentChildren } from 'preact';
import type { NodeView } from '../../src/api/ports/node-page.ts';
import { useNow } from '../data/use-page.ts';
import { Mark, Status } from '../parts/mark.tsx';
import { Term } from '../parts/term.tsx';
import type { Explained } from '../text/explanations.ts';
import { count, isoTime, plural } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { certificateTone, certificateWords, daysLeft } from './certificates.ts';

export function Facts({ node }: { readonly node: NodeView }) {
  const { pods, pressure, processes, runtime } = node;
  return (
    <dl class="facts">
      <Fact of="pods">
        {count(pods.running)} running, {count(pods.total)} <small>of {count(pods.max)}</small>
      </Fact>
      <Fact of="pressure">
        {pressure.length === 0 ? 'None' : <Status text={pressure.join(', ')} tone="bad" />}
      </Fact>
      {processes !== undefined && (
        <Fact of="processes">
          {count(processes.current)} <small>of {count(processes.max)}</small>
        </Fact>
      )}
      <Fact of="runtime">
        <Status text={`${runtime.name} ${runtime.version}`} tone={runtime.ok ? 'good' : 'bad'} />
        {runtime.problem !== undefined && <small> {visible(runtime.problem)}</small>}
      </Fact>
      <Certificates certificates={node.certificates} />
      <Configuration configuration={node.configuration} />
    </dl>
  );
}

function Fact({ children, of }: { readonly of: Explained; readonly children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>
        <Term of={of} />
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

function Certificates({ certificates }: Pick<NodeView, 'certificates'>) {
  const nowMs = useNow(60_000);
  if (certificates.length === 0) return null;
  return (
    <Fact of="certificates">
      {certificates.map(({ name, notAfterMs }) => {
        const days = daysLeft(notAfterMs, nowMs);
        const tone = certificateTone(days);
        return (
          <span key={name} class="certificate" title={`Valid until ${isoTime(notAfterMs)}`}>
            {tone !== 'good' && <Mark tone={tone} />}
            {visible(name)}{' '}
            <span class={tone === 'good' ? '' : `tone-${tone}`}>{certificateWords(days)}</span>
          </span>
        );
      })}
    </Fact>
  );
}

function Configuration({ configuration: { pending, state } }: Pick<NodeView, 'configuration'>) {
  const waiting = pending.map(visible).join(', ');
  return (
    <Fact of="configuration">
      {visible(state)}
      {pending.length > 0 && (
        <span class="tone-busy" title={waiting}>
          {' '}
          <Mark tone="busy" /> {plural(pending.length, 'change')} pending
        </span>
      )}
    </Fact>
  );
}
