// The strip of the node, above every view: gauges with their thresholds, then the facts in one line.
import { useSelect } from '../data/use-page.ts';
import { Status } from '../parts/mark.tsx';
import { Term } from '../parts/term.tsx';
import { visible } from '../text/visible.ts';
import { Facts } from './facts.tsx';
import { CpuGauge, DiskGauge, MemoryGauge } from './gauges.tsx';

export function NodeStrip() {
  const node = useSelect((state) => state.node);
  return (
    <section class="strip" aria-label="Node">
      {node === undefined ? (
        <p class="empty">Waiting for the kubelet …</p>
      ) : (
        <>
          <div class="gauges">
            <div class="gauge">
              <div class="gauge-head">
                <Term of="ready">Node</Term>
              </div>
              <Status text={node.ready.ok ? 'Ready' : 'Not ready'} tone={node.ready.ok ? 'good' : 'bad'} />
              <p class="gauge-note ready-why" title={visible(node.ready.why)}>
                {visible(node.ready.why)}
              </p>
            </div>
            <CpuGauge cpu={node.cpu} />
            <MemoryGauge memory={node.memory} />
            {node.disks.map((disk) => (
              <DiskGauge key={disk.name} disk={disk} />
            ))}
          </div>
          <Facts node={node} />
        </>
      )}
    </section>
  );
}
