// The names of stop signals: SIGRTMIN+3 in the Kubernetes API, SIGNAL_SIGRTMINPLUS3 in the CRI.
// Upstream: kuberuntime/helpers.go (signalNameToRuntimeEnum).
import { Signal } from './generated/runtime/v1/api.ts';

const prefix = 'SIGNAL_';

function apiName(criName: string): string {
  return criName.slice(prefix.length).replace('PLUS', '+').replace('MINUS', '-');
}

const names: ReadonlyMap<Signal, string> = new Map(
  Object.entries(Signal)
    .filter(([name]) => name.startsWith(`${prefix}SIG`))
    .map(([name, signal]) => [signal, apiName(name)]),
);
const signals: ReadonlyMap<string, Signal> = new Map([...names].map(([signal, name]) => [name, signal]));

/** The runtime's default for a name that the CRI lacks. */
export function toCriSignal(name: string): Signal {
  return signals.get(name) ?? Signal.SIGNAL_RUNTIME_DEFAULT;
}

/** Undefined for the runtime's default, which runtimes without stop signals report. */
export function signalName(signal: Signal): string | undefined {
  return names.get(signal);
}
