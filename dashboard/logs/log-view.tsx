// The merged logs of a pod's containers.
import type { ContainerView } from '../../src/api/ports/node-page.ts';

interface LogViewProps {
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly ContainerView[];
  readonly query: URLSearchParams;
  readonly onQuery: (next: URLSearchParams) => void;
}

export function LogView({ namespace, name }: LogViewProps) {
  return (
    <div role="log" aria-label="Logs">
      {namespace}/{name}
    </div>
  );
}
