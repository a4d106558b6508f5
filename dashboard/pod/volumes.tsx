// The volumes of the pod and whether they are mounted.
import type { VolumeView } from '../../src/api/ports/node-page.ts';
import { Status } from '../parts/mark.tsx';
import { Name } from '../parts/name.tsx';
import { Region } from '../parts/region.tsx';
import { visible } from '../text/visible.ts';

export function Volumes({ volumes }: { readonly volumes: readonly VolumeView[] }) {
  return (
    <Region name="Volumes" count={volumes.length}>
      {volumes.length === 0 ? (
        <p class="empty">The pod has no volumes.</p>
      ) : (
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Kind</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {volumes.map(({ detail, kind, mounted, name }) => (
              <tr key={name}>
                <td title={visible(detail)}>
                  <Name text={name} longest={32} />
                  {detail !== '' && <span class="sub">{visible(detail)}</span>}
                </td>
                <td class="volume-kind">{visible(kind)}</td>
                <td class="nowrap">
                  <Status text={mounted ? 'Mounted' : 'Not mounted'} tone={mounted ? 'good' : 'busy'} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Region>
  );
}
