// The pod as the kubelet knows it, as YAML: searchable, and to be copied. Long documents are cut, the copy is whole.
import { useMemo, useState } from 'preact/hooks';
import { usePage } from '../data/use-page.ts';
import { Icon } from '../parts/icon.tsx';
import { Region } from '../parts/region.tsx';
import { copyText } from '../shell/clipboard.ts';
import { plural } from '../text/format.ts';
import { toYaml } from '../text/yaml.ts';

const shownLines = 5_000;

export function Spec({ pod }: { readonly pod: unknown }) {
  const { announce } = usePage();
  const [search, setSearch] = useState('');
  const lines = useMemo(() => toYaml(pod), [pod]);
  const wanted = search.trim().toLowerCase();
  const found = useMemo(
    () => (wanted === '' ? undefined : lines.filter((line) => line.toLowerCase().includes(wanted)).length),
    [lines, wanted],
  );
  const copy = async () => {
    const isCopied = await copyText(lines.join('\n'));
    announce(isCopied ? 'Copied the spec' : 'The browser did not allow copying');
  };
  const tools = (
    <>
      <span class="muted" role="presentation">
        {found === undefined ? plural(lines.length, 'line') : `${plural(found, 'line')} found`}
      </span>
      <input
        type="search"
        class="field"
        aria-label="Search in the spec"
        placeholder="Search"
        value={search}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
        }}
      />
      <button
        type="button"
        class="button"
        onClick={() => {
          void copy();
        }}
      >
        <Icon name="copy" /> Copy
      </button>
    </>
  );
  return (
    <Region name="Spec" tools={tools} className="pod-spec">
      <pre class="yaml" role="group" tabIndex={0} aria-label="The pod as YAML">
        {lines.slice(0, shownLines).map((line, at) => (
          <Line key={at} line={line} wanted={wanted} isContext={found !== undefined} />
        ))}
        {lines.length > shownLines && `… ${plural(lines.length - shownLines, 'more line')}; Copy takes all.`}
      </pre>
    </Region>
  );
}

interface LineProps {
  readonly line: string;
  readonly wanted: string;
  readonly isContext: boolean;
}

/** While there is a search, lines without a hit are faint, so that the structure around hits stays legible. */
function Line({ isContext, line, wanted }: LineProps) {
  const at = wanted === '' ? -1 : line.toLowerCase().indexOf(wanted);
  if (at < 0) return <span class={isContext ? 'yaml-faint' : ''}>{`${line}\n`}</span>;
  return (
    <span>
      {line.slice(0, at)}
      <mark>{line.slice(at, at + wanted.length)}</mark>
      {`${line.slice(at + wanted.length)}\n`}
    </span>
  );
}
