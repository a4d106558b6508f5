// One row of the table of pods.
import { Component } from 'preact';
import type { PodRow } from '../../src/api/ports/node-page.ts';
import { podHref } from '../data/route.ts';
import { Status } from '../parts/mark.tsx';
import { Name } from '../parts/name.tsx';
import { isoTime } from '../text/format.ts';
import { visible } from '../text/visible.ts';
import { UsageCell } from './usage-cell.tsx';

interface PodTableRowProps {
  readonly row: PodRow;
  readonly age: string;
  /** How long ago the last restart was; empty if there was none. */
  readonly lastRestart: string;
}

export class PodTableRow extends Component<PodTableRowProps> {
  override shouldComponentUpdate(next: PodTableRowProps): boolean {
    const { age, lastRestart, row } = this.props;
    return next.row !== row || next.age !== age || next.lastRestart !== lastRestart;
  }

  override render() {
    const { age, lastRestart, row } = this.props;
    const sentence = visible(row.sentence);
    return (
      <tr role="row" class={`row-${row.tone}`}>
        <td role="cell" class="c-name">
          <a href={podHref(row)} data-row-link>
            <Name text={row.name} longest={44} />
          </a>
        </td>
        <td role="cell" class="c-namespace">
          <Name text={row.namespace} longest={24} />
        </td>
        <td role="cell" class="c-status">
          <Status text={row.status} tone={row.tone} />
        </td>
        <td role="cell" class="c-ready">
          <span class={row.ready < row.containers && row.tone !== 'done' ? 'tone-busy' : ''}>
            {row.ready}/{row.containers}
          </span>
          <span class="phone-only muted"> ready</span>
        </td>
        <td role="cell" class={row.restarts === 0 ? 'c-restarts is-zero' : 'c-restarts'}>
          {row.restarts}
          <span class="phone-only">{row.restarts === 1 ? ' restart' : ' restarts'}</span>
          {lastRestart !== '' && <span class="muted"> ({lastRestart} ago)</span>}
        </td>
        <td role="cell" class="c-age" title={isoTime(row.createdMs)}>
          {age}
        </td>
        <UsageCell uid={row.uid} kind="cpu" />
        <UsageCell uid={row.uid} kind="memory" />
        <td role="cell" class="c-ip">
          {visible(row.ip)}
        </td>
        <td role="cell" class="c-source">
          {visible(row.source)}
        </td>
        <td role="cell" class="c-why" title={sentence}>
          <div class="why-text">{sentence}</div>
        </td>
      </tr>
    );
  }
}
