// The part of the page's address that belongs to the log view: `c` containers, `q` search, `previous`. Pure.
import type { ContainerView } from '../../src/api/ports/node-page.ts';

type Choosable = Pick<ContainerView, 'name' | 'role' | 'tone'>;

/** The containers of the address, or all but the init containers that are done. */
export function chosenContainers(
  containers: readonly Choosable[],
  query: URLSearchParams,
): readonly string[] {
  const wanted = (query.get('c') ?? '').split(',');
  const chosen = containers.filter(({ name }) => wanted.includes(name));
  const usual = containers.filter(({ role, tone }) => role !== 'init' || tone !== 'done');
  const shown = [chosen, usual, containers].find(({ length }) => length > 0) ?? [];
  return shown.map(({ name }) => name);
}

/** An empty value removes the parameter. */
export function withQuery(query: URLSearchParams, name: string, value: string): URLSearchParams {
  const next = new URLSearchParams(query);
  if (value === '') next.delete(name);
  else next.set(name, value);
  return next;
}
