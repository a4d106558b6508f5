// Renders /metrics/cadvisor: one series per cgroup and figure, directly to text. Pure except for its pauses. Upstream:
// cadvisor's metrics/prometheus.go and prometheus_machine.go, and containerPrometheusLabelsFunc in pkg/kubelet/server.
import { labelText } from '../../base/metrics.ts';
import { Slices, type SlicesDeps } from '../../base/slices.ts';
import { Exposition, type FamilySpec } from '../exposition.ts';
import type { CadvisorEntry, CadvisorScrape, MachineEntry } from './cadvisor-entry.ts';
import { containerFamilies, pressureFamilies } from './cadvisor-families.ts';

const nodeFamilies: readonly FamilySpec[] = [
  {
    name: 'container_last_seen',
    type: 'gauge',
    help: 'Time of the last collection in seconds since the epoch.',
  },
  {
    name: 'container_scrape_error',
    type: 'gauge',
    help: '1 if a figure could not be collected, 0 otherwise.',
  },
  {
    name: 'cadvisor_version_info',
    type: 'gauge',
    help: 'Versions of kernel and operating system; always 1.',
  },
  { name: 'machine_cpu_cores', type: 'gauge', help: 'Logical CPUs.' },
  { name: 'machine_cpu_physical_cores', type: 'gauge', help: 'Physical CPU cores.' },
  { name: 'machine_cpu_sockets', type: 'gauge', help: 'CPU sockets.' },
  { name: 'machine_cpu_books', type: 'gauge', help: 'Always 0: CPU books are not detected.' },
  { name: 'machine_cpu_drawers', type: 'gauge', help: 'Always 0: CPU drawers are not detected.' },
  { name: 'machine_memory_bytes', type: 'gauge', help: 'Memory of the machine.' },
  { name: 'machine_swap_bytes', type: 'gauge', help: 'Swap of the machine.' },
  { name: 'machine_nvm_capacity', type: 'gauge', help: 'Always 0: persistent memory is not detected.' },
  {
    name: 'machine_nvm_avg_power_budget_watts',
    type: 'gauge',
    help: 'Always 0: persistent memory is not detected.',
  },
  {
    name: 'machine_scrape_error',
    type: 'gauge',
    help: '1 if the machine could not be inspected, 0 otherwise.',
  },
];

export const cadvisorFamilies: readonly FamilySpec[] = [
  ...nodeFamilies,
  ...containerFamilies,
  ...pressureFamilies,
];

export async function renderCadvisor(
  { atMs, entries, failed, machine }: CadvisorScrape,
  { psi, slices: deps }: { readonly psi: boolean; readonly slices: SlicesDeps },
): Promise<string> {
  const text = new Exposition(cadvisorFamilies);
  const slices = new Slices(deps);
  text.add('container_scrape_error', '', failed ? 1 : 0);
  addMachine(text, machine);
  const families = psi ? [...containerFamilies, ...pressureFamilies] : containerFamilies;
  for (const entry of entries) {
    await slices.yieldIfDue();
    const labels = labelsOf(entry);
    text.add('container_last_seen', labels, Math.trunc(atMs / 1000), atMs);
    for (const { name, untimed, values } of families) {
      for (const [value, more] of values(entry))
        text.add(
          name,
          more === undefined ? labels : `${labels},${more}`,
          value,
          untimed === true ? undefined : entry.usage.atMs,
        );
    }
  }
  return text.render();
}

function labelsOf({ container, image, name, namespace, path, pod }: CadvisorEntry): string {
  return labelText(['container', 'id', 'image', 'name', 'namespace', 'pod'], {
    container,
    id: path,
    image,
    name,
    namespace,
    pod,
  });
}

function addMachine(text: Exposition, machine: MachineEntry): void {
  const labels = labelText(['boot_id', 'machine_id', 'system_uuid'], {
    boot_id: machine.bootId,
    machine_id: machine.machineId,
    system_uuid: machine.systemUuid,
  });
  text.add('machine_cpu_cores', labels, machine.cores);
  text.add('machine_cpu_physical_cores', labels, machine.physicalCores);
  text.add('machine_cpu_sockets', labels, machine.sockets);
  text.add('machine_cpu_books', labels, 0);
  text.add('machine_cpu_drawers', labels, 0);
  text.add('machine_memory_bytes', labels, machine.memoryBytes);
  text.add('machine_swap_bytes', labels, machine.swapBytes);
  text.add('machine_nvm_capacity', `${labels},mode="memory_mode"`, 0);
  text.add('machine_nvm_capacity', `${labels},mode="app_direct_mode"`, 0);
  text.add('machine_nvm_avg_power_budget_watts', labels, 0);
  text.add('machine_scrape_error', '', 0);
  const versions = labelText(
    ['cadvisorRevision', 'cadvisorVersion', 'dockerVersion', 'kernelVersion', 'osVersion'],
    {
      cadvisorRevision: '',
      cadvisorVersion: '',
      dockerVersion: '',
      kernelVersion: machine.kernelVersion,
      osVersion: machine.osVersion,
    },
  );
  text.add('cadvisor_version_info', versions, 1);
}
